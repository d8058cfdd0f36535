"""The tensors of a file that hold NaN or infinity, as a table."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from explorer.schemas.model_results import TensorValues, ValuesResult
from screens.model_tables import ResultTable, cut, cut_front, found_part
from screens.model_values import value_rows
from screens.model_words import shape
from screens.result_words import wrapped
from screens.text import bytes_, count, duration

SHAPE_ROOM, DTYPE_ROOM, COUNT_ROOM = 18, 10, 10


class SweepTable(ResultTable[TensorValues]):
    """A row a tensor that is not finite; of one tensor alone, that one."""

    WHAT = "tensor"

    def __init__(self, result: ValuesResult) -> None:
        self._result = result

    def head(self, width: int) -> list[Content]:
        result = self._result
        bad = sum(1 for item in result.tensors if item.nans or item.infinities)
        words = f"{count(bad)} of {count(result.checked)} tensors hold NaN or infinity"
        verdict = (f"✗ {words}", "bold $error") if bad else ("✓ every number is finite", "bold $success")
        said = f"   {count(result.checked)} tensors, {bytes_(result.bytes)} read in {duration(result.seconds)}"
        name = Content.assemble((Path(result.source).name, "bold"), (" · looked for NaN and infinity", "$muted"))
        return [name.truncate(width, ellipsis=True), *wrapped(Content.assemble(verdict, said), width, "  ")]

    def columns(self, width: int) -> Content:
        text = f"{'tensor':<{_name_room(width)}} {'shape':<{SHAPE_ROOM}}{'type':<{DTYPE_ROOM}}{'NaN':>{COUNT_ROOM}}"
        return Content.assemble((f"{text}{'infinite':>{COUNT_ROOM}}", "$muted"))

    def rows(self, sort: str, text: str) -> list[TensorValues]:
        return [item for item in self._result.tensors if text.lower() in item.name.lower()]

    def key(self, row: TensorValues) -> str:
        return row.name

    def draw(self, row: TensorValues, width: int) -> Content:
        name = cut_front(row.name, _name_room(width))
        counts = f"{count(row.nans):>{COUNT_ROOM}}{count(row.infinities):>{COUNT_ROOM}}"
        return Content.assemble(
            f"{name} {cut(shape(row.shape), SHAPE_ROOM)}", (cut(row.dtype, DTYPE_ROOM), "$muted"), (counts, "bold $error")
        )

    def facts(self, row: TensorValues, width: int) -> list[Content]:
        return [*wrapped(Content.assemble((row.name, "bold")), width), *value_rows(row, min(width, 60))]

    def about(self, width: int) -> list[Content]:
        return found_part(self._result.findings, width)


def _name_room(width: int) -> int:
    return max(12, width - SHAPE_ROOM - DTYPE_ROOM - 2 * COUNT_ROOM - 1)
