"""The machine's readings in the order and the words of the Hardware screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from screens.text import memory, quantity
from screens.widgets.row_list import Row

if TYPE_CHECKING:
    from explorer.schemas.readings import Inventory, Reading

LABELS: dict[str, dict[str, str]] = {
    "COMPUTE": {
        "cpu.tiers": "CPU",
        "cpu.logical": "CPU threads",
        "cpu.limit": "CPU limit",
        "cpu.isa": "Instructions",
        "gpu": "GPU",
        "mps.usable": "GPU through MPS",
        "cuda": "CUDA",
        "ane.cores": "Neural Engine",
        "tpu": "TPU",
    },
    "MEMORY": {"memory.total_bytes": "Memory", "memory.limit_bytes": "Memory limit"},
    "FRAMEWORKS": {},
    "MORE": {},
}
FIRST_WORDS = {
    "COMPUTE": ("cpu", "gpu", "mps", "cuda", "ane", "tpu"),
    "MEMORY": ("memory", "swap"),
    "FRAMEWORKS": ("framework", "frameworks", "torch", "onnxruntime"),
}
IN_HEADING = ("chip.name", "machine.model", "os.name", "host.name")
# While the first reading of a family is not known, the others would only repeat why.
FIRST_OF_FAMILY = {"ane": "ane.cores", "cuda": "cuda", "gpu": "gpu", "mps": "mps.usable"}
WORDS = {
    "ok": "ok",
    "absent": "absent",
    "unsupported": "not usable",
    "denied": "denied",
    "stale": "old",
    "estimated": "estimated",
    "pending": "reading…",
}
# Columns from which a source fits beside the value, and the columns of a label below and above that.
WIDE, NARROW_LABEL, WIDE_LABEL = 100, 19, 25
STYLES = {"ok": "$success", "stale": "$warning", "estimated": "$warning", "denied": "$warning"}


def heading(inventory: Inventory) -> str:
    """The machine in one line: chip, system."""
    known = [str(reading.value) for name in IN_HEADING[:3] if (reading := inventory.get(name)).known]
    return " · ".join(known)


def rows(inventory: Inventory, width: int) -> list[Row]:
    """A row for every reading in groups; names that this program does not know come last, as they are."""
    found = []
    for group, names in grouped_names(inventory).items():
        if names:
            found.append(Row(group, group, heading=True))
            found += [Row(name, row_content(label, inventory.get(name), width)) for name, label in names.items()]
    return found


def grouped_names(inventory: Inventory) -> dict[str, dict[str, str]]:
    """The label of each reading by its name, in groups."""
    present = inventory.readings
    groups = {group: {name: names[name] for name in names if name in present} for group, names in LABELS.items()}
    placed = {name for names in LABELS.values() for name in names} | set(IN_HEADING)
    for name in present:
        if name not in placed and not _folded(inventory, name):
            group, label = _unknown(name)
            groups[group][name] = label
    return groups


def _folded(inventory: Inventory, name: str) -> bool:
    first = FIRST_OF_FAMILY.get(name.partition(".")[0])
    return first is not None and not inventory.get(first).known


def family(inventory: Inventory, name: str) -> list[str]:
    """The names of the readings that belong to the same part of the machine, that one left out."""
    part = name.partition(".")[0]
    return [other for other in inventory.readings if other.partition(".")[0] == part and other != name]


def _unknown(name: str) -> tuple[str, str]:
    """Group and label of a reading that no list here names."""
    first, _, rest = name.partition(".")
    group = next((group for group, firsts in FIRST_WORDS.items() if first in firsts), "MORE")
    return group, (rest if first in ("framework", "frameworks") else name).replace("_bytes", "").replace("_", " ").replace(
        ".", " "
    )


def label_of(inventory: Inventory, name: str) -> str:
    """The label of one reading."""
    return next((names[name] for names in grouped_names(inventory).values() if name in names), name)


def row_content(label: str, reading: Reading, width: int) -> Content:
    """Label, state, value or the reason why there is none, and at 100 columns the source."""
    text = said(reading)
    label_room = WIDE_LABEL if width >= WIDE else NARROW_LABEL
    room = max(20, width - label_room - 17)
    parts: list[str | tuple[str, str]] = [
        f"{_cut(label, label_room - 1):<{label_room}}",
        (f"{WORDS[reading.state]:<11}", STYLES.get(reading.state, "$muted")),
    ]
    if width >= WIDE:
        source_room = min(36, room // 3)
        text_room = room - source_room
        parts += [(f"{_cut(text, text_room):<{text_room + 1}}", "" if reading.known else "$muted")]
        parts += [(_cut(reading.source, source_room), "$muted")]
    else:
        parts += [(_cut(text, width - label_room - 14), "" if reading.known else "$muted")]
    return Content.assemble(*parts)


def said(reading: Reading) -> str:
    """The value for people, or the reason why it is not known."""
    if not reading.known:
        return reading.reason or "not read"
    if isinstance(reading.value, list) and reading.value and isinstance(reading.value[0], dict):
        return " + ".join(device(item) for item in reading.value)
    return quantity(reading.value, reading.unit)


def device(item: dict[str, object]) -> str:
    """One core tier or GPU in a few words: `12 × Performance`, `M4 Max 40 cores 48 GiB`."""
    name, cores, size = str(item.get("name") or ""), item.get("cores"), item.get("memory_bytes")
    if "threads" in item:
        return f"{cores} × {name}" if cores else name
    parts = [name, f"{cores} cores" if cores else "", memory(size) if isinstance(size, int | float) else ""]
    return " ".join(part for part in parts if part)


def detail_lines(inventory: Inventory, name: str) -> list[Content | str]:
    """Everything about one reading, a line each, and what else is known of that part."""
    others = [_pair(other, said(inventory.get(other)), 28) for other in family(inventory, name)]
    return _own_lines(name, inventory.get(name)) + (["", Content.assemble(("see also", "bold")), *others] if others else [])


def _own_lines(name: str, reading: Reading) -> list[Content | str]:
    rows: list[Content | str] = [
        _pair("name", name),
        _pair("state", WORDS[reading.state] + (f": {reading.reason}" if reading.reason else "")),
        _pair("source", reading.source or "not named"),
    ]
    if not reading.known:
        return rows
    if not isinstance(reading.value, list):
        return [_pair("value", quantity(reading.value, reading.unit)), *rows]
    for item in reading.value:
        if isinstance(item, dict):
            rows.append("")
            rows += [_pair(key.removesuffix("_bytes").replace("_", " "), _item(key, value)) for key, value in item.items()]
        else:
            rows.append(_pair("", quantity(item, reading.unit)))
    return rows


def _item(key: str, value: object) -> str:
    return quantity(value, "bytes" if key.endswith("_bytes") else "")


def _pair(label: str, text: str, width: int = 12) -> Content:
    return Content.assemble((f"{label:<{width}}", "$muted"), text)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"
