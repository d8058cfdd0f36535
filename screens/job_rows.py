"""The rows of Experiments and the page of one job; no widget."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from explorer.schemas.specs import spec_to_toml
from screens.job_detail import JobDetail
from screens.job_words import STATE_STYLES, kin_line, short_id, when
from screens.result_words import fact_lines, failure_rows, finding_rows, heading, result_facts, wrapped
from screens.text import bytes_, duration, percent

WHEN_ROOM, KIND_ROOM, MODEL_ROOM, STATE_ROOM = 13, 10, 16, 10
LOG_ROWS = 60
FIELDS = ("kind", "model", "state", "id")


def column_names(width: int) -> Content:
    """The heading over the rows."""
    text = f"{'when':<{WHEN_ROOM}}{'kind':<{KIND_ROOM}}{'model':<{MODEL_ROOM}}{'state':<{STATE_ROOM}}result"
    return Content.assemble("  ", (text, "$muted"))


def job_row(job: JobSummary, marked: bool, width: int) -> Content:
    """When, kind, model, state and headline of a job."""
    model = Content(job.model).truncate(MODEL_ROOM - 1, ellipsis=True).plain
    said = job.headline
    if job.active and job.progress is not None:
        said = f"{percent(job.progress)}  {job.message}"
    return Content.assemble(
        ("● " if marked else "  ", "$primary"),
        (f"{when(job.created):<{WHEN_ROOM}}", "$muted"),
        f"{job.kind:<{KIND_ROOM}}{model:<{MODEL_ROOM}}",
        (f"{job.state:<{STATE_ROOM}}", STATE_STYLES[job.state]),
        said,
    )


def matching(jobs: Iterable[JobSummary], text: str) -> list[JobSummary]:
    """The jobs, newest first, in which every word of `text` is found; `kind:`, `model:`, `state:` and `id:` look in one field."""
    words = text.lower().split()
    found = [job for job in jobs if all(_has(job, word) for word in words)]
    return sorted(found, key=lambda job: (job.created, job.id), reverse=True)


def detail_rows(detail: JobDetail, jobs: dict[str, JobSummary], width: int) -> list[Content]:
    """Everything about a job: state, lineage, result, findings, spec, files, log."""
    job = detail.job
    rows = _summary(job, jobs, width)
    if detail.failure is not None:
        rows += [Content(""), heading("WHY IT FAILED"), *failure_rows(detail.failure, width)]
    rows += result_rows(detail, width)
    if detail.spec is not None:
        rows += [Content(""), heading("SPEC"), *(Content(line) for line in spec_to_toml(detail.spec).splitlines())]
    if detail.artifacts:
        files = [(name, bytes_(size)) for name, size in detail.artifacts.items()]
        rows += [Content(""), heading("FILES"), *fact_lines(files, 24)]
    return rows + _log(detail)


def result_rows(detail: JobDetail, width: int) -> list[Content]:
    """The result's figures and the findings."""
    rows: list[Content] = []
    if detail.result is not None:
        lines = fact_lines(result_facts(detail.result))
        rows += [Content(""), heading("RESULT"), *(row for line in lines for row in wrapped(line, width, " " * 19))]
    if found := detail.all_findings:
        rows += [Content(""), heading("FINDINGS"), *finding_rows(found, width)]
    return rows


def _summary(job: JobSummary, jobs: dict[str, JobSummary], width: int) -> list[Content]:
    took = f" · took {duration(job.ended - job.started)}" if job.ended and job.started else ""
    first = Content.assemble(
        (f"{job.kind} {job.model}  ", "bold"), (job.state, f"bold {STATE_STYLES[job.state]}"), f"  {when(job.created)}{took}"
    )
    said = wrapped(Content(job.headline), width) if job.headline else []
    lineage = [Content.assemble(("lineage  ", "$muted"), kin_line(job, jobs))] if job.parents else []
    return [first, Content.assemble(("job      ", "$muted"), job.id), *lineage, *said]


def _log(detail: JobDetail) -> list[Content]:
    said = [note.text for note in detail.notes][-LOG_ROWS:]
    rows = [Content(""), heading("SAID"), *map(Content, said)] if said else []
    lines = detail.log.splitlines()[-LOG_ROWS:]
    return rows + ([Content(""), heading("OUTPUT"), *map(Content, lines)] if lines else [])


def _has(job: JobSummary, word: str) -> bool:
    name, separator, rest = word.partition(":")
    if separator and name in FIELDS:
        return rest in str(getattr(job, name)).lower()
    return any(word in text.lower() for text in (job.id, job.kind, job.model, job.state, job.headline, short_id(job.id)))
