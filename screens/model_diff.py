"""What differs between two models, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.content import Content

from explorer.schemas.model_results import DiffResult, TensorChange, TensorInfo
from screens.model_tables import ResultTable, cut, cut_front, found_part
from screens.model_words import shape
from screens.result_words import fact_lines, heading, wrapped
from screens.text import NONE, bytes_, count, number

KIND_ROOM, SHAPE_ROOM, CHANGE_ROOM = 10, 26, 10
SIGNS = {"changed": ("~", "$warning"), "reshaped": ("≠", "$error"), "added": ("+", "$success"), "removed": ("-", "$error")}


@dataclass(frozen=True)
class Difference:
    """One tensor that is not the same in both."""

    kind: str
    name: str
    shape: str
    change: TensorChange | None = None
    tensor: TensorInfo | None = None


class DiffTable(ResultTable[Difference]):
    """Changed tensors first, the largest relative change on top."""

    SORTS: ClassVar[tuple[str, ...]] = ("relative change", "largest change", "name")
    WHAT = "difference"

    def __init__(self, result: DiffResult) -> None:
        self._result = result
        changed = [Difference("changed", item.name, _shapes(item), item) for item in result.changed]
        reshaped = [Difference("reshaped", item.name, _shapes(item), item) for item in result.reshaped]
        added = [Difference("added", item.name, shape(item.shape), tensor=item) for item in result.added]
        removed = [Difference("removed", item.name, shape(item.shape), tensor=item) for item in result.removed]
        self._all = [*changed, *reshaped, *removed, *added]

    def head(self, width: int) -> list[Content]:
        result = self._result
        verdict = ("✓ the same", "bold $success") if not self._all else ("~ different", "bold $warning")
        counts = f"{count(len(result.changed))} changed · {count(len(result.reshaped))} reshaped · "
        counts += f"{count(len(result.removed))} removed · {count(len(result.added))} added · {count(result.same)} the same"
        names = Content.assemble((Path(result.first).name, "bold"), (" → ", "$muted"), (Path(result.second).name, "bold"))
        renamed = wrapped(Content.assemble((result.renaming, "$muted")), width, "  ") if result.renaming else []
        return [names.truncate(width, ellipsis=True), *wrapped(Content.assemble(verdict, f"   {counts}"), width, "  "), *renamed]

    def columns(self, width: int) -> Content:
        text = f"{'':<{KIND_ROOM}} {'tensor':<{_name_room(width)}} {'shape':<{SHAPE_ROOM}}{'relative':>{CHANGE_ROOM}}"
        return Content.assemble((text + (f"{'largest':>{CHANGE_ROOM}}" if _is_wide(width) else ""), "$muted"))

    def rows(self, sort: str, text: str) -> list[Difference]:
        found = [item for item in self._all if text.lower() in f"{item.kind} {item.name}".lower()]
        if sort == "name":
            return sorted(found, key=lambda item: item.name)
        if sort == "largest change":
            return sorted(found, key=lambda item: -_size(item.change.max_abs if item.change else None))
        return sorted(found, key=lambda item: -_size(item.change.relative if item.change else None))

    def key(self, row: Difference) -> str:
        return f"{row.kind} {row.name}"

    def draw(self, row: Difference, width: int) -> Content:
        sign, style = SIGNS[row.kind]
        change = row.change
        relative = NONE if change is None or change.relative is None else number(change.relative)
        largest = NONE if change is None or change.max_abs is None else number(change.max_abs)
        tail = f"{relative:>{CHANGE_ROOM}}" + (f"{largest:>{CHANGE_ROOM}}" if _is_wide(width) else "")
        name = cut_front(row.name, _name_room(width))
        return Content.assemble(
            (f"{sign} {row.kind:<{KIND_ROOM - 2}} ", style), f"{name} ", (cut(row.shape, SHAPE_ROOM), ""), tail
        )

    def facts(self, row: Difference, width: int) -> list[Content]:
        rows = wrapped(Content.assemble((row.name, "bold"), (f"  {row.kind}", "$muted")), width)
        if row.tensor is not None:
            facts = [("shape", row.shape), ("type", row.tensor.dtype), ("bytes", bytes_(row.tensor.bytes))]
            return [*rows, *fact_lines(facts, 9)]
        change = row.change
        assert change is not None
        types = change.dtype if change.dtype == change.other_dtype else f"{change.dtype} → {change.other_dtype}"
        facts = [("shape", row.shape), ("type", types)]
        told = (("relative", change.relative), ("largest", change.max_abs), ("mean", change.mean_abs))
        facts += [(name, number(value)) for name, value in told if value is not None]
        return [*rows, *fact_lines(facts, 9)]

    def about(self, width: int) -> list[Content]:
        result = self._result
        models = [heading("MODELS"), *wrapped(Content(result.first), width, "  "), *wrapped(Content(result.second), width, "  ")]
        found = found_part(result.findings, width)
        explained = wrapped(Content.assemble((RELATIVE, "$muted")), width)
        return [*found, *([Content("")] if found else []), *models, Content(""), *explained]


RELATIVE = "relative: the norm of the change over the norm of the first model's tensor"


def _shapes(item: TensorChange) -> str:
    first, second = shape(item.shape), shape(item.other_shape)
    return first if first == second else f"{first} → {second}"


def _size(value: float | None) -> float:
    """Where no change is known, at the end."""
    return -1.0 if value is None else value


def _is_wide(width: int) -> bool:
    return width >= 80


def _name_room(width: int) -> int:
    return max(10, width - KIND_ROOM - SHAPE_ROOM - CHANGE_ROOM * (2 if _is_wide(width) else 1) - 2)
