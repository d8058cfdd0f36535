"""Weights laid against a module without loading them, as a table of what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textual.content import Content

from explorer.schemas.model_results import MatchResult
from screens.model_tables import ResultTable, cut, cut_front, found_part
from screens.model_words import shape
from screens.result_words import fact_lines, heading, wrapped
from screens.text import count

KIND_ROOM, SHAPE_ROOM = 12, 34
WORDS = {
    "missing": "the module has it, the weights do not",
    "unexpected": "the weights have it, the module does not",
    "shape": "both have it, in different shapes",
}


@dataclass(frozen=True)
class Misfit:
    """One name that keeps the weights from fitting."""

    kind: str
    name: str
    shapes: str = ""


class MatchTable(ResultTable[Misfit]):
    """Shapes first, then missing and unexpected names."""

    WHAT = "name"

    def __init__(self, result: MatchResult) -> None:
        self._result = result
        wrong = [Misfit("shape", item.name, f"{shape(item.found)}, wanted {shape(item.expected)}") for item in result.mismatched]
        missing = [Misfit("missing", name) for name in result.missing]
        self._all = [*wrong, *missing, *(Misfit("unexpected", name) for name in result.unexpected)]

    def head(self, width: int) -> list[Content]:
        result = self._result
        verdict = ("✓ fits", "bold $success") if result.fits else ("✗ does not fit", "bold $error")
        counts = f"{count(result.matched)} matched · {count(len(result.missing))} missing · "
        counts += f"{count(len(result.unexpected))} unexpected · {count(len(result.mismatched))} of another shape"
        names = Content.assemble((Path(result.weights).name, "bold"), (" in ", "$muted"), (_factory(result.source), "bold"))
        rows = [names.truncate(width, ellipsis=True), *wrapped(Content.assemble(verdict, f"   {counts}"), width, "  ")]
        if result.suggestion:
            then = f"→ {result.suggestion}: then {count(result.suggested_matches)} match"
            rows += wrapped(Content.assemble((then, "bold $primary")), width, "  ")
        return rows

    def columns(self, width: int) -> Content:
        shapes = "shape" if self._shape_room else ""
        return Content.assemble((f"{'':<{KIND_ROOM}} {'name':<{self._name_room(width)}} {shapes}", "$muted"))

    def rows(self, sort: str, text: str) -> list[Misfit]:
        return [item for item in self._all if text.lower() in f"{item.kind} {item.name}".lower()]

    def key(self, row: Misfit) -> str:
        return f"{row.kind} {row.name}"

    def draw(self, row: Misfit, width: int) -> Content:
        style = "$warning" if row.kind == "unexpected" else "$error"
        name = cut_front(row.name, self._name_room(width))
        return Content.assemble((f"{row.kind:<{KIND_ROOM}} ", style), f"{name} ", cut(row.shapes, self._shape_room))

    def facts(self, row: Misfit, width: int) -> list[Content]:
        rows = [*wrapped(Content.assemble((row.name, "bold")), width), *wrapped(Content(WORDS[row.kind]), width)]
        return [*rows, *fact_lines([("shape", row.shapes)] if row.shapes else [], 8)]

    def about(self, width: int) -> list[Content]:
        result = self._result
        found = found_part(result.findings, width)
        gap = [Content("")] if found else []
        return [*found, *gap, heading("MODEL"), *wrapped(Content(result.source), width), *wrapped(Content(result.weights), width)]

    @property
    def _shape_room(self) -> int:
        """Only where a shape is wrong."""
        return SHAPE_ROOM if self._result.mismatched else 0

    def _name_room(self, width: int) -> int:
        return max(12, width - KIND_ROOM - self._shape_room - 2)


def _factory(source: str) -> str:
    file, separator, name = source.rpartition(":")
    return f"{Path(file).name}{separator}{name}"
