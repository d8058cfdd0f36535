"""Jobs side by side: the fields of their specs that differ first, then their results; no widget."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from screens.job_detail import JobDetail
from screens.job_words import short_id, when
from screens.result_words import heading, result_facts, spec_facts
from screens.text import NONE, duration

LABEL_ROOM = 18
NARROWEST = 18


def compare_rows(details: Sequence[JobDetail], width: int) -> list[Content]:
    """A column a job, as many as fit in `width`; a line tells of those that do not."""
    columns = max(1, min(len(details), (width - LABEL_ROOM) // (NARROWEST + 2)))
    room = max(NARROWEST, (width - LABEL_ROOM) // columns - 2)
    kept = list(details[:columns])
    rows = [_row(name, values, room, differs=False) for name, values in _jobs(kept)]
    differing, same = _split([dict(spec_facts(detail.spec)) if detail.spec is not None else {} for detail in kept])
    rows += [Content(""), heading("ASKED DIFFERENTLY" if differing else "ASKED THE SAME")]
    rows += [_row(name, values, room, differs=True) for name, values in (differing or same)]
    rows += [Content(""), heading("RESULTS")]
    results = [dict(result_facts(detail.result)) if detail.result is not None else {} for detail in kept]
    rows += [_row(name, values, room, differs=len(set(values)) > 1) for name, values in _aligned(results)]
    if differing and same:
        rows += [Content(""), heading("ASKED THE SAME"), *(_row(name, values, room, differs=False) for name, values in same)]
    if len(details) > columns:
        rows += [Content(""), Content.assemble((f"{len(details) - columns} more do not fit; widen the terminal", "$warning"))]
    return rows


def _jobs(details: list[JobDetail]) -> list[tuple[str, list[str]]]:
    jobs = [detail.job for detail in details]
    took = [duration(job.ended - job.started) if job.ended and job.started else NONE for job in jobs]
    return [
        ("job", [f"{job.kind} {short_id(job.id)}" for job in jobs]),
        ("model", [job.model for job in jobs]),
        ("when", [when(job.created) for job in jobs]),
        ("state", [job.state for job in jobs]),
        ("time", took),
    ]


def _split(facts: list[dict[str, str]]) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    """The labelled values that differ, and those that do not."""
    aligned = _aligned(facts)
    return [row for row in aligned if len(set(row[1])) > 1], [row for row in aligned if len(set(row[1])) == 1]


def _aligned(facts: list[dict[str, str]]) -> list[tuple[str, list[str]]]:
    """Every label once, in the order met, with each job's value or a dash."""
    labels = dict.fromkeys(label for found in facts for label in found)
    return [(label, [found.get(label, NONE) for found in facts]) for label in labels]


def _row(label: str, values: list[str], room: int, differs: bool) -> Content:
    cells = [Content(value).truncate(room, ellipsis=True).plain.ljust(room) for value in values]
    return Content.assemble((f"{label[: LABEL_ROOM - 1]:<{LABEL_ROOM}}", "$muted"), ("  ".join(cells), "bold" if differs else ""))
