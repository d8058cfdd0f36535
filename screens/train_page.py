"""Everything known of a training on one page; no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from explorer.schemas.results import RESULT_ADAPTER
from screens.result_words import fact_lines, heading, result_facts, wrapped
from screens.train_words import alarm_rows, checkpoint_lines, facts, headline, split_row, trouble

if TYPE_CHECKING:
    from explorer.schemas.readings import Inventory
    from screens.train_run import Run

LOG_ROWS = 20


def page_rows(run: Run, inventory: Inventory | None, width: int) -> list[Content]:
    """Head, trouble, facts, checkpoints, every alarm with its remedy, result and log, wrapped to `width`."""
    rows = [row for line in headline(run) for row in wrapped(Content(line), width, "  ")]
    rows += trouble(run, width, LOG_ROWS)
    rows += _part(
        "NOW", [*fact_lines(facts(run, inventory, wide=True)), *([Content(split)] if (split := split_row(run)) else [])]
    )
    rows += _part("CHECKPOINTS", [Content(line) for line in checkpoint_lines(run, len(run.checkpoints))] or [Content("none yet")])
    rows += _part("ALARMS AND FINDINGS", alarm_rows(run.findings, width) or [Content("none")])
    if run.result is not None:
        lines = fact_lines(result_facts(RESULT_ADAPTER.validate_python(run.result)))
        rows += _part("RESULT", [row for line in lines for row in wrapped(line, width, " " * 19)])
    return rows + _part("LOG", [row for line in run.notes for row in wrapped(Content(line), width, "  ")])


def _part(title: str, rows: list[Content]) -> list[Content]:
    return [Content(""), heading(title), *rows] if rows else []
