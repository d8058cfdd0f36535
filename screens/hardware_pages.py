"""The page of one part of the machine, below the table: its readings, its live values, its measured limits."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from explorer.schemas.readings import Reading
from screens import ceiling_words
from screens.ceiling_words import of_device
from screens.hardware_cpu import cpu_rows, speeds_up
from screens.hardware_readings import LABEL_ROOM, fact, label_of, line, names_of, part_of, reading_rows, said
from screens.hardware_rows import COMPUTE
from screens.live import rows_of, spark
from screens.machine import Machine
from screens.result_words import wrapped
from screens.text import NONE, memory

# Label and name of what each page lists, in this order; live values are looked up first.
FACTS: dict[str, tuple[tuple[str, str], ...]] = {
    "cpu": (("dtypes", "dtypes.cpu"),),
    "gpu": (
        ("MPS", "mps.usable"),
        ("MPS memory", "mps.memory_limit_bytes"),
        ("dtypes", "dtypes.mps"),
        ("driver", "gpu.driver"),
    ),
    "ane": (
        ("cores", "ane.cores"),
        ("engines", "ane.engines"),
        ("generation", "ane.generation"),
        ("architecture", "ane.architecture"),
        ("rate", "ane.tops"),
    ),
    "cuda": (("CUDA", "cuda"), ("version", "cuda.version"), ("devices", "cuda.devices"), ("dtypes", "dtypes.cuda")),
    "tpu": (("TPU", "tpu"),),
    "memory": (
        ("size", "memory.total_bytes"),
        ("limit", "memory.limit_bytes"),
        ("kind", "memory.type"),
        ("bandwidth", "memory.bandwidth"),
    ),
    "swap": (("size", "swap.total_bytes"),),
}
LIVE: dict[str, tuple[tuple[str, str], ...]] = {
    "cpu": (
        ("clock", "cpu.frequency"),
        ("load", "load.average"),
        ("thermal", "thermal"),
        ("temperature", "temperature.cpu"),
        ("power", "power.cpu"),
        ("system power", "power.system"),
    ),
    "gpu": (("use", "gpu.use"), ("memory used", "gpu.memory_used_bytes"), ("power", "power.gpu")),
    "ane": (("state", "ane.state"), ("power", "power.ane")),
    "memory": (
        ("used", "memory.used_bytes"),
        ("available", "memory.available_bytes"),
        ("pressure", "memory.pressure"),
        ("pressure", "memory.pressure_percent"),
        ("power", "power.dram"),
    ),
    "swap": (("used", "swap.used_bytes"),),
}
ANE_REMARK = "¹ the precision of the published figure is not stated; no system reports the Neural Engine's use in percent"


def page(machine: Machine, part: str, width: int) -> list[Content]:
    """The page's rows, each at most `width` wide: what it is, what it does now and at most, and what is not known and why."""
    if part in ("frameworks", "more"):
        return _listed(machine, names_of(machine.inventory, part), width)
    rows = _not_usable(machine, part, width)
    rows += cpu_rows(machine, width) if part == "cpu" else _gpus(machine, width) if part == "gpu" else []
    now, unread = _live(machine, part, width)
    remark = []
    if part == "ane" and machine.get("ane.tops").known:
        remark = wrapped(Content.assemble((ANE_REMARK, "$muted")), width, "  ")
    facts = (speeds_up(machine, width) if part == "cpu" else []) + _facts(machine, part, width)
    busy = [*now, *_measured(machine, part, width)]
    ordered = [*busy, *facts] if part in ("cpu", "gpu") else [*facts, *busy]
    return [*rows, *ordered, *remark, *unread, *_source(machine, part, width)]


def all_rows(machine: Machine, part: str, width: int) -> list[Content]:
    """Every reading of a part (of the machine for "more") with state, reason and source, live ones too."""
    found = machine.inventory.readings | machine.live.latest
    return [
        row for name, reading in found.items() if part in ("more", part_of(name)) for row in reading_rows(name, reading, width)
    ]


def _not_usable(machine: Machine, part: str, width: int) -> list[Content]:
    """Whether programs can use a part and why not; nothing when they can."""
    usable = machine.usable(part) if part in COMPUTE else None
    if usable is None or usable.word == "yes" or not usable.reason:
        return []
    return line("usable", f"{usable.word}: {usable.reason}", width)


def _facts(machine: Machine, part: str, width: int) -> list[Content]:
    """The part's readings; those that would only repeat why it is not usable, and MPS off a Mac, are left out."""
    reason = machine.usable(part).reason if part in COMPUTE else ""
    rows = []
    for label, name in FACTS[part]:
        reading = machine.get(name)
        elsewhere = name.startswith(("mps.", "dtypes.mps")) and not machine.is_mac
        if name in machine.inventory.readings and not elsewhere and (reading.known or reading.reason != reason):
            rows += fact(label, reading, width)
    return rows


def _listed(machine: Machine, names: list[str], width: int) -> list[Content]:
    """What is known a line each; then the rest by the reason why not."""
    readings = {label_of(name): machine.get(name) for name in names}
    rows = [row for label, reading in readings.items() if reading.known for row in fact(label, reading, width)]
    return rows + _unknown({label: reading for label, reading in readings.items() if not reading.known}, NONE, width)


def _unknown(readings: Mapping[str, Reading], label: str, width: int) -> list[Content]:
    """Names that share a reason on one line with it."""
    names: dict[str, list[str]] = {}
    for name, reading in readings.items():
        names.setdefault(reading.reason or "not read", []).append(name)
    return [row for reason, found in names.items() for row in line(label, f"{', '.join(found)}: {reason}", width, muted=True)]


def _gpus(machine: Machine, width: int) -> list[Content]:
    live = rows_of(machine.live.get("gpu.per_device"))
    rows = []
    for place, item in enumerate(rows_of(machine.get("gpu"))):
        parts = [str(item.get("name") or "GPU")]
        parts += [f"{item['cores']} cores"] if item.get("cores") else []
        size = item.get("memory_bytes")
        parts += [memory(size)] if isinstance(size, int | float) else []
        parts += [str(item["metal"])] if item.get("metal") else []
        parts += [f"driver {item['driver']}"] if item.get("driver") else []
        parts += ["MIG on"] if item.get("mig") else []
        rows += line(f"device {place}", " · ".join(parts), width)
        if place < len(live):
            rows += _device_now(machine, place, live[place])
    return rows


def _device_now(machine: Machine, place: int, row: Mapping[str, object]) -> list[Content]:
    words = []
    for key, unit in (("memory_used_bytes", ""), ("power_w", " W"), ("temperature_c", " °C"), ("mhz", " MHz")):
        value = row.get(key)
        if isinstance(value, int | float):
            words.append(f"{memory(value)} used" if key.endswith("_bytes") else f"{value:,.0f}{unit}")
    use = row.get("use_percent")
    busy = f"{use:>3.0f} %" if isinstance(use, int | float) else f"{NONE:>5}"
    return [
        Content.assemble(" " * LABEL_ROOM, (spark(machine.live.past(f"gpu:{place}")), "$primary"), f" {busy}  {'  '.join(words)}")
    ]


def _measured(machine: Machine, part: str, width: int) -> list[Content]:
    """The measured limits of a part, a word for each kind of work."""
    if part == "memory":
        found = of_device(machine.ceilings, "cpu", "bandwidth")
    else:
        found = of_device(machine.ceilings, machine.torch_device(part)) if machine.torch_device(part) else []
    if found:
        return line("measured", " · ".join(ceiling_words.said(item) for item in found), width)
    if part in ("cpu", "memory") and not machine.folder:
        return line("measured", f"{NONE} b measures what this machine does at most", width, muted=True)
    return []


def _live(machine: Machine, part: str, width: int) -> tuple[list[Content], list[Content]]:
    """What is known now on one line, and why the rest is not."""
    latest = machine.live.latest
    present = [(label, latest[name]) for label, name in LIVE.get(part, ()) if name in latest]
    known = [f"{label} {_value(reading)}" for label, reading in present if reading.known]
    unread = {label: reading for label, reading in present if not reading.known}
    return line("now", " · ".join(known), width) if known else [], _unknown(unread, "not read", width)


def _value(reading: Reading) -> str:
    if isinstance(reading.value, list):
        return " ".join(f"{item:.2f}" if isinstance(item, float) else str(item) for item in reading.value)
    if reading.unit in ("W", "°C") and isinstance(reading.value, int | float):
        return f"{reading.value:.1f} {reading.unit}"
    return said(reading)


def _source(machine: Machine, part: str, width: int) -> list[Content]:
    """Where the page's readings come from, each source once, those of published values only when there are no others."""
    readings = [machine.get(name) for name in names_of(machine.inventory, part)]
    told = [reading for reading in readings if reading.state == "ok"] or [reading for reading in readings if reading.known]
    sources = list(dict.fromkeys(reading.source for reading in told if reading.source))
    return line("source", " · ".join(sources[:4]), width, muted=True) if sources else []
