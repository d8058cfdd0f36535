"""What a result about model files looks like as a table: one class a kind of result, chosen by `table_of`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual.content import Content

from explorer.schemas.model_results import DiffResult, LayersResult, MatchResult, ValuesResult, VerifyResult
from screens.result_words import finding_rows, heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.schemas.events import Finding
    from explorer.schemas.results import CeilingsResult, JobResult

R = TypeVar("R")
KINDS = ("diff", "verify", "match", "layers", "values")


class ResultTable(ABC, Generic[R]):
    """A verdict above, rows, the facts of one row, and what else was found."""

    SORTS: ClassVar[tuple[str, ...]] = ()
    WHAT: ClassVar[str] = "row"

    @abstractmethod
    def head(self, width: int) -> list[Content]:
        """The verdict, and what was compared."""

    @abstractmethod
    def columns(self, width: int) -> Content:
        """The names over the rows."""

    @abstractmethod
    def rows(self, sort: str, text: str) -> list[R]:
        """The rows in the order `sort`, one of `SORTS`, whose name holds `text`."""

    @abstractmethod
    def key(self, row: R) -> str:
        """What names a row over updates."""

    @abstractmethod
    def draw(self, row: R, width: int) -> Content:
        """One row of the table."""

    @abstractmethod
    def facts(self, row: R, width: int) -> list[Content]:
        """Everything about one row."""

    @abstractmethod
    def about(self, width: int) -> list[Content]:
        """What stands below the facts: findings and what was asked."""


def table_of(result: JobResult, ceilings: CeilingsResult | None) -> ResultTable[Any] | None:
    """The table of a result about model files; `ceilings` place layers on the machine's roofline."""
    match result:
        case DiffResult():
            from screens.model_diff import DiffTable

            return DiffTable(result)
        case VerifyResult():
            from screens.model_verify import VerifyTable

            return VerifyTable(result)
        case MatchResult():
            from screens.model_match import MatchTable

            return MatchTable(result)
        case LayersResult():
            from screens.model_layers import LayersTable

            return LayersTable(result, ceilings)
        case ValuesResult():
            from screens.model_sweep import SweepTable

            return SweepTable(result)
        case _:
            return None


def found_part(findings: Sequence[Finding], width: int) -> list[Content]:
    """The findings below their heading; nothing without any."""
    return [heading("FINDINGS"), *finding_rows(findings, width)] if findings else []


def cut(text: str, room: int) -> str:
    """Text in exactly `room` cells, its end cut off when it is longer."""
    if room <= 0:
        return ""
    found = Content(text).truncate(room, ellipsis=True)
    return found.plain + " " * max(0, room - found.cell_length)


def cut_front(text: str, room: int) -> str:
    """A dotted name in exactly `room` characters, its beginning cut off when it is longer."""
    return cut(text, room) if len(text) <= room else f"…{text[len(text) - room + 1 :]}"
