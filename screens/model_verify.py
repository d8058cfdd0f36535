"""Whether two models say the same, as a table of their outputs."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from explorer.schemas.model_results import OutputDifference, VerifyResult
from screens.model_facts import port_line
from screens.model_tables import ResultTable, cut, found_part
from screens.model_words import shape
from screens.result_words import fact_lines, heading, wrapped
from screens.text import NONE, count, number, percent

SHAPE_ROOM, ERROR_ROOM, SNR_ROOM, CLASS_ROOM = 18, 11, 9, 12


class VerifyTable(ResultTable[OutputDifference]):
    """A row an output."""

    WHAT = "output"

    def __init__(self, result: VerifyResult) -> None:
        self._result = result

    def head(self, width: int) -> list[Content]:
        result = self._result
        verdict = ("✓ the same", "bold $success") if result.same else ("✗ different", "bold $error")
        error = "" if result.max_abs_error is None else f"max error {number(result.max_abs_error)}, "
        said = f"   {error}tolerance {number(result.tolerance)} · {count(result.samples)} inputs"
        names = Content.assemble((Path(result.first).name, "bold"), (" = ", "$muted"), (Path(result.second).name, "bold"))
        ran = Content.assemble(("run by ", "$muted"), " against ".join(result.runtimes))
        return [names.truncate(width, ellipsis=True), *wrapped(Content.assemble(verdict, said), width, "  "), ran]

    def columns(self, width: int) -> Content:
        text = f"{'output':<{_name_room(width)}} {'shape':<{SHAPE_ROOM}}{'max error':>{ERROR_ROOM}}{'SNR':>{SNR_ROOM}}"
        return Content.assemble((f"{text}{'same class':>{CLASS_ROOM}}", "$muted"))

    def rows(self, sort: str, text: str) -> list[OutputDifference]:
        return [item for item in self._result.outputs if text.lower() in _names(item).lower()]

    def key(self, row: OutputDifference) -> str:
        return _names(row)

    def draw(self, row: OutputDifference, width: int) -> Content:
        wrong = row.max_abs_error is None or row.max_abs_error > self._result.tolerance
        error = "shapes" if row.max_abs_error is None else number(row.max_abs_error)
        snr = NONE if row.snr_db is None else f"{row.snr_db:.0f} dB"
        agreement = NONE if row.agreement is None else percent(row.agreement, 1)
        return Content.assemble(
            f"{cut(_names(row), _name_room(width))} {cut(_shapes(row), SHAPE_ROOM)}",
            (f"{error:>{ERROR_ROOM}}", "bold $error" if wrong else "$success"),
            f"{snr:>{SNR_ROOM}}{agreement:>{CLASS_ROOM}}",
        )

    def facts(self, row: OutputDifference, width: int) -> list[Content]:
        told = [("max error", row.max_abs_error), ("relative", row.max_rel_error)]
        facts = [("shape", _shapes(row)), *((name, number(value)) for name, value in told if value is not None)]
        return [*wrapped(Content.assemble((_names(row), "bold")), width), *fact_lines(facts, 10)]

    def about(self, width: int) -> list[Content]:
        result = self._result
        rows = [*found_part(result.findings, width)]
        rows += [Content("")] if rows else []
        if result.inputs:
            rows += [heading("INPUTS"), *(row for port in result.inputs for row in wrapped(port_line(port), width, "  "))]
            rows.append(Content(""))
        return [*rows, heading("MODELS"), *wrapped(Content(result.first), width), *wrapped(Content(result.second), width)]


def _names(item: OutputDifference) -> str:
    return item.name if item.name == item.other_name else f"{item.name} / {item.other_name}"


def _shapes(item: OutputDifference) -> str:
    first, second = shape(item.shape), shape(item.other_shape)
    return first if first == second else f"{first} → {second}"


def _name_room(width: int) -> int:
    return max(8, min(40, width - SHAPE_ROOM - ERROR_ROOM - SNR_ROOM - CLASS_ROOM - 1))
