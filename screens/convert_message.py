"""The converters' own words, made fit for a terminal; no widget."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.content import Content

from explorer.schemas.events import Failure, Log
from screens.convert_route import is_check, is_original
from screens.result_words import heading, wrapped

CODES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
TRACEBACK = "Traceback (most recent call last):"
OWN_ERROR = "explorer.errors."
DIRECT_CAUSE = "The above exception was the direct cause of the following exception:"
SILENT = "The converters printed nothing."


def message_page(failure: Failure | None, notes: Sequence[Log], log: str, width: int) -> list[Content]:
    """What each way said when it broke, in our words and in its own, then the end of what was printed."""
    rows: list[Content] = []
    for note in notes:
        if note.level != "info" and not is_check(note):
            rows += [*_gap(rows), *wrapped(Content.assemble(("! ", "bold $warning"), (note.text, "bold")), width, "  ")]
        elif is_original(note):
            rows += _rows(note.text, width)
    if failure is not None and failure.log_tail:
        rows += [*_gap(rows), heading("LAST WORDS"), *(row for line in failure.log_tail for row in _rows(line, width))]
    printed = _rows(without_refusal(log) if failure is not None and failure.cause == "refused" else log, width)
    rows += [*_gap(rows), heading("PRINTED"), *printed] if printed else []
    return rows or [Content(SILENT)]


def without_refusal(log: str) -> str:
    """The log without the traceback of our own refusal, which the screen has in one sentence; what led to it stays."""
    before, _, last = log.rpartition(TRACEBACK)
    return before.rstrip().removesuffix(DIRECT_CAUSE) if OWN_ERROR in last else log


def clean_lines(text: str) -> list[str]:
    """Lines without terminal codes; of a line that was written over, what stood there last."""
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in CODES.sub("", text).split("\n")]
    return [CONTROLS.sub("", line.expandtabs(4)).rstrip() for line in lines]


def _gap(rows: list[Content]) -> list[Content]:
    return [Content("")] if rows else []


def _rows(text: str, width: int) -> list[Content]:
    lines = clean_lines(text)
    while lines and not lines[-1]:
        lines.pop()
    return [row for line in lines for row in (wrapped(Content(line), width, "  ") if line else [Content("")])]
