"""The table of the Hardware screen: a row for each part of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from textual.content import Content

from explorer.schemas.readings import Reading
from screens.ceiling_words import bandwidth, fastest, short_dtype, value_of
from screens.hardware_readings import cut, device, heading, said
from screens.live import number_of, rows_of, spark
from screens.machine import Machine
from screens.text import NONE, memory
from screens.widgets.row_list import Row

COMPUTE = {"cpu": "CPU", "gpu": "GPU", "ane": "Neural Engine", "cuda": "CUDA", "tpu": "TPU"}
REST = {"memory": "Memory", "swap": "Swap", "frameworks": "Frameworks", "more": "More"}
WIDE = 100
# Of the installed packages, those named in the table; the page names all.
FRAMEWORKS = ("torch", "coremltools", "onnx", "onnxruntime")


@dataclass(frozen=True)
class Rooms:
    """Columns of each cell; `published` is 0 where there is no room."""

    name: int
    what: int
    usable: int
    measured: int
    published: int
    now: int


def rooms(width: int) -> Rooms:
    """Rooms that fill `width`."""
    if width >= WIDE:
        taken = 15 + 9 + 18 + 12 + 30
        return Rooms(15, max(24, width - taken), 9, 18, 12, 30)
    return Rooms(14, max(12, width - 54), 8, 17, 0, 15)


def machine_line(machine: Machine, width: int) -> Content:
    """Chip, system and model; before them the folder of a recorded machine, by its name alone where the path is too long."""
    words = heading(machine.inventory)
    if not machine.folder:
        return Content.assemble((words, "bold"))
    fits = len("recorded: ") + len(machine.folder) + 2 + len(words) <= width
    folder = machine.folder if fits else PurePath(machine.folder).name
    return Content.assemble(("recorded: ", "bold $warning"), (f"{folder}  {words}", "bold"))


def rows(machine: Machine, width: int, airy: bool) -> list[Row]:
    """Every part, a blank row between the groups when there is room for it."""
    room = rooms(width)
    found = [Row("names", _names(machine, room), heading=True)]
    found += [Row(part, part_row(machine, part, room)) for part in COMPUTE]
    found += [Row("gap", "", heading=True)] if airy else []
    return found + [Row(part, part_row(machine, part, room)) for part in REST]


def title(machine: Machine, part: str) -> str:
    """The name of a part's row."""
    return "GPU (MPS)" if part == "gpu" and machine.is_mac else (COMPUTE | REST)[part]


def part_row(machine: Machine, part: str, room: Rooms) -> Content:
    """One part in its columns; what cannot be computed with says why instead of figures."""
    name = f"{title(machine, part):<{room.name}}"
    if part in ("frameworks", "more"):
        return Content.assemble(name, cut(_summary(machine, part), room.what + _figures_room(room) + room.usable))
    what, words = _what(machine, part, room.what), machine.usable(part) if part in COMPUTE else None
    cells: list[str | tuple[str, str]] = [name, (_cell(what, room.what), "" if what != NONE else "$muted")]
    cells.append((f"{words.word:<{room.usable}}", words.style) if words is not None else " " * room.usable)
    if words is not None and words.word != "yes" and words.reason:
        return Content.assemble(*cells, (cut(words.reason, _figures_room(room)), "$muted"))
    figures = f"{_measured(machine, part):<{room.measured}}"
    if room.published:
        figures += f"{_cell(_published(machine, part), room.published)}"
    return Content.assemble(*cells, figures, *_now(machine, part, room))


def now_words(machine: Machine, part: str) -> str:
    """The live value of a part beside the title of its chart, or why there is none."""
    live = machine.live
    reading = live.get("memory.used_bytes" if part == "memory" else f"{part}.use")
    if not reading.known:
        return said(reading) if live.latest else NONE
    if part == "memory":
        total = machine.memory_bytes
        return memory(number_of(reading)) + (f" of {memory(total)}" if total else "")
    return f"{_percent(reading):>5}"


def _names(machine: Machine, room: Rooms) -> Content:
    published = f"{'published':<{room.published}}" if room.published else ""
    now = "" if machine.folder else "now"
    return Content(
        f"  {'COMPUTE':<{room.name}}{'what':<{room.what}}{'usable':<{room.usable}}{'measured':<{room.measured}}{published}{now}"
    )


def _figures_room(room: Rooms) -> int:
    return room.measured + room.published + room.now


def _what(machine: Machine, part: str, room: int) -> str:
    match part:
        case "cpu":
            return _cpu(machine, room)
        case "gpu":
            return _gpus(machine)
        case "ane":
            return _joined(machine, ("ane.cores", "ane.architecture", "ane.generation"))
        case "cuda":
            version = machine.get("cuda.version")
            return f"CUDA {version.value}" if version.known else NONE
        case "memory":
            kind = machine.get("memory.type")
            limit, total = (number_of(machine.get(f"memory.{name}_bytes")) for name in ("limit", "total"))
            total_size = f"{memory(limit)} of {memory(total)}" if limit and total and limit < total else memory(total or limit)
            return f"{total_size} {kind.value}" if kind.known else total_size
        case "swap":
            size = number_of(machine.get("swap.total_bytes"))
            return "none" if size == 0 else memory(size)
        case _:
            reading = machine.get(part)
            return said(reading) if reading.known and not isinstance(reading.value, bool) else NONE


def _cpu(machine: Machine, room: int) -> str:
    """Cores by tier, by the first letter of its name where the names do not fit; and how many of them may be used."""
    tiers, logical = rows_of(machine.get("cpu.tiers")), number_of(machine.get("cpu.logical"))
    limit = number_of(machine.get("cpu.limit"))
    if len(tiers) == 1 and tiers[0].get("cores"):
        cores, threads = tiers[0]["cores"], tiers[0].get("threads")
        what = f"{cores} cores" + (f", {threads} threads" if threads and threads != cores else "")
    else:
        what = " + ".join(device(tier) for tier in tiers) or (f"{logical:.0f} CPUs" if logical else NONE)
        if len(what) >= room and tiers:
            what = " + ".join(f"{tier.get('cores')} {str(tier.get('name') or '')[:1]}" for tier in tiers) + " cores"
    if limit is not None and (what == NONE or (logical is not None and limit < logical)):
        return f"{limit:g} of {logical:.0f} CPUs" if logical is not None else f"{limit:g} CPUs allowed"
    return what


def _gpus(machine: Machine) -> str:
    devices = rows_of(machine.get("gpu"))
    if not devices:
        return NONE
    if machine.is_mac:
        metal = devices[0].get("metal")
        parts = [f"{devices[0]['cores']} cores" if devices[0].get("cores") else device(devices[0]), str(metal) if metal else ""]
        return ", ".join(part for part in parts if part)
    names: dict[str, int] = {}
    for item in devices:
        names[device(item)] = names.get(device(item), 0) + 1
    return ", ".join(f"{number} × {name}" if number > 1 else name for name, number in names.items())


def _joined(machine: Machine, names: tuple[str, ...]) -> str:
    found = [said(machine.get(name)) for name in names if machine.get(name).known]
    return ", ".join(found) or NONE


def _measured(machine: Machine, part: str) -> str:
    if part == "memory":
        copied = bandwidth(machine.ceilings, "cpu")
        return NONE if copied is None else f"{value_of(copied)} copy"
    device_name = machine.torch_device(part)
    best = fastest(machine.ceilings, device_name) if device_name else None
    if best is None:
        return "" if part in ("swap", "cuda") else NONE
    return f"{value_of(best)} {short_dtype(best.dtype)}"


def _published(machine: Machine, part: str) -> str:
    name = {"memory": "memory.bandwidth", "ane": "ane.tops"}.get(part)
    if name is None:
        return NONE if part in COMPUTE else ""
    return said(machine.get(name)) + (" ¹" if part == "ane" else "") if machine.get(name).known else NONE


def _now(machine: Machine, part: str, room: Rooms) -> list[str | tuple[str, str]]:
    """The live value in a fixed room, so that only changed cells are sent; and its past where that fits."""
    if machine.folder or not machine.live.latest:
        return []
    live = machine.live
    if part in ("cpu", "gpu"):
        past = spark(live.past(part)) if room.now >= 30 else ""
        return [f"{_percent(live.get(f'{part}.use')):>5}  ", (past, "$primary")]
    if part == "memory":
        pressure = live.get("memory.pressure")
        words = f"  {pressure.value}" if pressure.known and room.now >= 30 else ""
        return [_cell(f"{memory(number_of(live.get('memory.used_bytes')))} used{words}", room.now)]
    if part == "swap":
        used = number_of(live.get("swap.used_bytes"))
        return [_cell(NONE if used is None else f"{memory(used)} used", room.now)]
    state = live.get("ane.state")
    return [_cell(f"{state.value if state.known else NONE:>5}", room.now)] if part == "ane" else []


def _percent(reading: Reading) -> str:
    value = number_of(reading)
    return NONE if value is None else f"{value:.0f} %"


def _summary(machine: Machine, part: str) -> str:
    if part == "more":
        return f"system and process; enter shows all {len(machine.inventory.readings)} readings with state and source"
    found = [(name, machine.get(f"framework.{name}")) for name in FRAMEWORKS]
    known = " · ".join(f"{name} {reading.value}" for name, reading in found if reading.known)
    return known or f"torch: {found[0][1].reason or 'not read'}"


def _cell(text: str, room: int) -> str:
    """Text in exactly `room` columns, the last one blank."""
    return f"{cut(text, room - 1):<{room}}"
