"""The ladder of a conversion in words: each step with its sign and seconds; no widget."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from textual.content import Content

from explorer.schemas.events import Log
from explorer.schemas.results import ConvertResult
from screens.job_detail import JobDetail
from screens.result_words import STYLES, heading, wrapped

STEP = re.compile(r"(?P<name>.+?)(?P<failed> failed after)? (?P<took>\d[\d.,:]* s)")
ROOM = 60
TOOK_ROOM = 9
LONGEST = 240
FAILED_STEP = " failed after "
PASSED, FAILED = ": passed", ": FAILED"


def route_rows(detail: JobDetail, width: int) -> list[Content]:
    """The steps that were gone: from the log while they are gone or when they led nowhere, at the end from the result."""
    rows = [row for note in _told(detail) for row in step_rows(note, width)]
    if detail.job.active and detail.progress is not None:
        rows += wrapped(Content.assemble(("▸ ", "$primary"), (detail.progress.message, "bold")), width, "  ")
    title = "TRIED" if detail.failure is not None else "ROUTE"
    return [heading(title), *rows] if rows else []


def is_original(note: Log) -> bool:
    """Whether a converter's own words were logged: they have a page of their own."""
    return note.level == "info" and ("\n" in note.text.strip() or len(note.text) > LONGEST)


def is_check(note: Log) -> bool:
    """Whether a check was summed up in one line."""
    return note.text.endswith((PASSED, FAILED))


def failed_proof_rows(notes: Sequence[Log], width: int) -> list[Content]:
    """The checks of a conversion that left no result, the wrong ones named; nothing when it came to no check."""
    rows = [row for note in notes if is_check(note) for row in step_rows(note, width)]
    return [Content.assemble(heading("PROOF"), "  ", ("✗ failed", "bold $error")), *rows] if rows else []


def _told(detail: JobDetail) -> list[Log]:
    """The notes of the way; when it failed without the checks, when it ended well its steps, warnings and why a step failed."""
    notes = [note for note in detail.notes if not is_original(note) and not (detail.failure is not None and is_check(note))]
    if not isinstance(detail.result, ConvertResult):
        return notes
    steps = set(detail.result.route)
    if not steps <= {note.text for note in notes}:
        return [Log(text=step) for step in detail.result.route]
    why = [after for before, after in pairwise(notes) if FAILED_STEP in before.text and after.text not in steps]
    return [note for note in notes if note.text in steps or note.level != "info" or note in why]


def step_rows(note: Log, width: int) -> list[Content]:
    """One line of the log: a step with its seconds at the right, anything else as it was said."""
    step = STEP.fullmatch(note.text)
    if step is None:
        return wrapped(Content.assemble(_said_sign(note), (note.text, _said_style(note))), width, "  ")
    sign = ("✗ ", "bold $error") if step["failed"] else ("✓ ", "$success")
    name = f"{step['name']} failed" if step["failed"] else step["name"]
    room = min(width, ROOM) - 2 - TOOK_ROOM
    if len(name) > room:
        return wrapped(Content.assemble(sign, f"{name}  {step['took']}"), width, "  ")
    return [Content.assemble(sign, f"{name:<{room}}", (f"{step['took']:>{TOOK_ROOM}}", "$muted"))]


def _said_sign(note: Log) -> tuple[str, str]:
    if is_check(note):
        return ("✓ ", "$success") if note.text.endswith(PASSED) else ("✗ ", "bold $error")
    return {"info": ("· ", "$muted"), "warning": ("! ", "bold $warning"), "error": ("✗ ", "bold $error")}[note.level]


def _said_style(note: Log) -> str:
    return "" if is_check(note) else "$muted" if note.level == "info" else STYLES[note.level]
