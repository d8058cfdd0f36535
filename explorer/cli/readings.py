"""Readings as plain text and as JSON, the same for every command that prints them."""

import json
from collections.abc import Mapping
from typing import Any

from explorer.schemas.readings import Reading

SHOWN_FIRST = (
    *("chip", "machine", "os", "process", "cpu", "memory", "swap", "gpu"),
    *("cuda", "mps", "xpu", "ane", "coreml", "tpu", "dtypes", "framework"),
)
VALUE_COLUMNS = 44
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def reading_lines(readings: Mapping[str, Reading]) -> list[str]:
    """A line a reading: name, value or state, then why there is none or where it came from.

    A list of parts, such as core tiers, takes a line for each.
    """
    room = max(map(len, readings), default=0) + 2
    lines: list[str] = []
    for name in sorted(readings, key=_rank):
        reading = readings[name]
        first, *others = _texts(reading)
        lines.append(f"{name:<{room}}{first:<{VALUE_COLUMNS}}  {reading.reason or reading.source}".rstrip())
        lines += [" " * room + text for text in others]
    return lines


def readings_json(readings: Mapping[str, Reading]) -> str:
    """One flat object of readings under dotted names."""
    return json.dumps({name: reading.model_dump(mode="json") for name, reading in readings.items()})


def value_text(reading: Reading) -> str:
    """The value with its unit in one line, or the state in brackets when there is none."""
    return "; ".join(_texts(reading))


def _texts(reading: Reading) -> list[str]:
    if not reading.known:
        return [f"({reading.state})"]
    marked = f" ({reading.state})" if reading.state != "ok" else ""
    if isinstance(reading.value, list) and reading.value and isinstance(reading.value[0], dict):
        return [_part(item) + marked for item in reading.value]
    return [_quantity(reading.value, reading.unit) + marked]


def _rank(name: str) -> tuple[int, str]:
    head = name.partition(".")[0]
    return (SHOWN_FIRST.index(head) if head in SHOWN_FIRST else len(SHOWN_FIRST)), name


def _part(item: Mapping[str, Any]) -> str:
    """Such as `Performance: cores 12, threads 12, l1d 128 KiB`; what is not known is left out."""
    told = [
        f"{key.removesuffix('_bytes').replace('_', ' ')} {_quantity(value, 'B' if key.endswith('_bytes') else '')}"
        for key, value in item.items()
        if key != "name" and value not in (None, "", [])
    ]
    name = str(item.get("name", ""))
    return ": ".join(text for text in (name, ", ".join(told)) if text)


def _quantity(value: Any, unit: str) -> str:
    if unit == "B" and isinstance(value, int | float):
        return _size(value)
    return f"{_plain(value)} {unit}".rstrip()


def _size(size_bytes: float) -> str:
    power = 0
    while size_bytes >= 1024 and power < len(UNITS) - 1:
        size_bytes, power = size_bytes / 1024, power + 1
    return f"{size_bytes:.4g} {UNITS[power]}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        return _part(value)
    return str(value)
