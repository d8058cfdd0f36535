"""The machine's readings in words, and which part of the machine each belongs to; no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from screens.result_words import wrapped
from screens.text import memory, number, quantity, rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from explorer.schemas.readings import Inventory, Reading

# The beginnings of the names of each part's readings; what none of them takes belongs to "more".
PARTS = {
    "cpu": ("cpu", "chip", "dtypes.cpu", "load", "thermal", "temperature.cpu", "power.cpu", "power.system"),
    "gpu": ("gpu", "mps", "dtypes.mps", "xpu", "dtypes.xpu", "power.gpu"),
    "ane": ("ane", "coreml", "power.ane"),
    "cuda": ("cuda", "dtypes.cuda"),
    "tpu": ("tpu",),
    "memory": ("memory", "power.dram"),
    "swap": ("swap",),
    "frameworks": ("framework", "frameworks", "torch", "onnxruntime"),
}
STATES = {
    "ok": "ok",
    "absent": "absent",
    "unsupported": "not usable",
    "denied": "denied",
    "stale": "old",
    "estimated": "published",
    "pending": "asking…",
}
STYLES = {"ok": "$success", "stale": "$warning", "estimated": "$warning", "denied": "$warning"}
LABEL_ROOM = 15


def heading(inventory: Inventory) -> str:
    """The machine in one line: chip, system, model."""
    names = ("chip.name", "os.name", "machine.model")
    return " · ".join(str(reading.value) for name in names if (reading := inventory.get(name)).known)


def part_of(name: str) -> str:
    """The part of the machine that a reading belongs to; the longest beginning decides."""
    fits = [(len(start), part) for part, starts in PARTS.items() for start in starts if f"{name}.".startswith(f"{start}.")]
    return max(fits, default=(0, "more"))[1]


def names_of(inventory: Inventory, part: str) -> list[str]:
    """The names of a part's readings in their order."""
    return [name for name in inventory.readings if part_of(name) == part]


def label_of(name: str) -> str:
    """A name as a label: `memory.limit_bytes` as `memory limit`, a framework by its own name."""
    plain = name.partition(".")[2] if name.startswith(("framework.", "frameworks.")) else name
    return plain.removesuffix("_bytes").replace("_", " ").replace(".", " ")


def said(reading: Reading) -> str:
    """The value for people, or a dash and the reason why it is not known."""
    if not reading.known:
        return f"– {reading.reason or 'not read'}"
    if isinstance(reading.value, list) and reading.value and isinstance(reading.value[0], dict):
        return " + ".join(device(item) for item in reading.value)
    if isinstance(reading.value, int | float) and reading.unit in ("GB/s", "TOPS"):
        return rate(reading.value * 1e9, "B/s") if reading.unit == "GB/s" else f"{number(reading.value)} TOPS"
    return quantity(reading.value, reading.unit)


def device(item: Mapping[str, object]) -> str:
    """One core tier or GPU in a few words: `12 × Performance`, `M4 Max 40 cores 48 GiB`."""
    name, cores, size = str(item.get("name") or ""), item.get("cores"), item.get("memory_bytes")
    if "speeds_up" in item:
        return name
    if "threads" in item:
        return f"{cores} × {name}" if cores else name
    parts = [name, f"{cores} cores" if cores else "", memory(size) if isinstance(size, int | float) else ""]
    return " ".join(part for part in parts if part)


def fact(label: str, reading: Reading, width: int) -> list[Content]:
    """A labelled value, or the reason for its dash; a published value says so, and what that leaves open."""
    text = said(reading)
    if reading.known and reading.state in ("estimated", "stale"):
        state = STATES[reading.state]
        text += f"  {reading.reason}" if reading.reason.startswith(state) else f"  {state}: {reading.reason}".rstrip(": ")
    style = "" if reading.known else "$muted"
    return wrapped(Content.assemble((f"{label:<{LABEL_ROOM}}", "$muted"), (text, style)), width, " " * LABEL_ROOM)


def line(label: str, text: str, width: int, muted: bool = False) -> list[Content]:
    """A label and words, wrapped beside it."""
    row = Content.assemble((f"{label:<{LABEL_ROOM}}", "$muted"), (text, "$muted") if muted else text)
    return wrapped(row, width, " " * LABEL_ROOM)


def cut(text: str, room: int) -> str:
    """Text in at most `room` columns."""
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"


def reading_rows(name: str, reading: Reading, width: int) -> list[Content]:
    """Everything about one reading: name, state, value, reason and source; rows of a list below."""
    first = Content.assemble((f"{name:<26} ", "bold"), (STATES[reading.state], STYLES.get(reading.state, "$muted")))
    plain = reading.known and not _is_table(reading)
    value = f"  {said(reading)}" if plain else ""
    why = f"  {reading.reason}" if reading.reason else ""
    rows = wrapped(Content.assemble(first, value, (why, "$muted")), width, "    ")
    rows += wrapped(Content.assemble((f"    source {reading.source or 'not named'}", "$muted")), width, "    ")
    if reading.known and _is_table(reading):
        for item in reading.value:
            rows += wrapped(Content(f"    {_item(item)}"), width, "      ")
    return rows


def _is_table(reading: Reading) -> bool:
    return isinstance(reading.value, list) and bool(reading.value) and isinstance(reading.value[0], dict)


def _item(item: Mapping[str, object]) -> str:
    """An object's fields in their order, those without a value left out."""
    parts = []
    for key, value in item.items():
        if value is not None:
            label = key.removesuffix("_bytes").replace("_", " ")
            text = _ranges(value) if key == "cpus" and isinstance(value, list) else quantity(value, _unit_of(key))
            parts.append(f"{label} {text}")
    return " · ".join(parts)


def _unit_of(key: str) -> str:
    return "bytes" if key.endswith("_bytes") else ""


def _ranges(numbers: list[int]) -> str:
    """Numbers in order with runs drawn together: `0-3, 8`."""
    runs: list[list[int]] = []
    for number_ in sorted(numbers):
        if runs and number_ == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number_]
        else:
            runs.append([number_, number_])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
