"""One conversion in words, from its parts: heading, body, why it failed; no widget."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.events import Failure, Finding, Log
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec
from screens.convert_asked import target_words
from screens.convert_half import float16_summary, hints_summary
from screens.convert_proof import first_difference_rows, proof_rows, titled
from screens.convert_route import FAILED, failed_proof_rows, is_check, route_rows
from screens.job_detail import JobDetail
from screens.job_words import STATE_STYLES, short_id
from screens.jobs import bar
from screens.result_words import finding_rows, heading, wrapped
from screens.text import bytes_, duration

DETAIL_ROOM = 10
# Facts of a failure that stand under its sentence, in this order, before any others.
DETAILS = ("operator", "module", "line")
AFTER_FAILURE = "nothing was written · e changes and runs again · m the converters' words"


def head_rows(detail: JobDetail, place: str, width: int) -> list[Content]:
    """From what to what; at the right its state. Then how far it is."""
    job, spec = detail.job, detail.spec
    target = f" → {target_words(spec)}" if isinstance(spec, ConvertSpec) else ""
    took = f" in {duration(job.ended - job.started)}" if job.started and job.ended and not job.active else ""
    right = Content.assemble(_state(detail), (f"{took} · job {short_id(job.id)}{place}", "$muted"))
    left = Content.assemble((f"{job.model}{target}", "bold")).truncate(max(10, width - right.cell_length - 2), ellipsis=True)
    gap = " " * max(2, width - left.cell_length - right.cell_length)
    return [Content.assemble(left, gap, right), _second(detail)]


def body_rows(detail: JobDetail, width: int, home: str, prove: str) -> list[Content]:
    """What a person looks for first on top: while it runs the way, then the failure or the proof."""
    parts: list[list[Content]] = []
    result = detail.result if isinstance(detail.result, ConvertResult) else None
    if detail.failure is not None:
        parts.append(failed_rows(detail.failure, detail, width))
    if result is not None:
        parts += _proven(detail, result, width, home, prove) if result.passed else _differing(result, width)
        parts.append(_found("PREFLIGHT", _mended(result), width))
    elif detail.failure is not None:
        parts.append(failed_proof_rows(detail.notes, width))
    told = _others(detail, result)
    way, findings = route_rows(detail, width), _found("FINDINGS", told, width)
    parts += [way, findings] if result is None and detail.failure is None else [findings, way]
    return apart(*parts)


def apart(*parts: list[Content]) -> list[Content]:
    """The parts that say something, an empty row between them."""
    filled = [part for part in parts if part]
    return [row for place, part in enumerate(filled) for row in ([Content("")] if place else []) + part]


def failed_rows(failure: Failure, detail: JobDetail, width: int) -> list[Content]:
    """The sentence, operator and module it names, what to do, and the last words of a crash."""
    rows = [heading(_failed_title(failure, detail.notes))]
    rows += wrapped(Content.assemble(("✗ ", "bold $error"), (failure.message, "bold")), width, "  ")
    for name, value in [*_details(failure), *_places(failure, detail.findings)]:
        rows += wrapped(Content.assemble((f"  {name:<{DETAIL_ROOM}}", "$muted"), value), width, " " * (DETAIL_ROOM + 2))
    if failure.remedy:
        rows += wrapped(Content.assemble(("→ ", "bold $success"), failure.remedy), width, "  ")
    if failure.cause not in ("", "refused") and failure.cause not in failure.message:
        rows += wrapped(Content.assemble((f"  cause: {failure.cause}", "$muted")), width, "  ")
    return rows + [Content.assemble((f"  {line}", "$muted")).truncate(width, ellipsis=True) for line in failure.log_tail[-3:]]


def _failed_title(failure: Failure, notes: list[Log]) -> str:
    """Whether it was refused, or written and found wrong, or broke."""
    if failure.cause != "refused":
        return "WHY IT FAILED"
    return "PROOF FAILED" if any(note.text.endswith(FAILED) for note in notes) else "REFUSED"


def _details(failure: Failure) -> list[tuple[str, str]]:
    """Known facts first; a reason that only repeats the sentence is left out."""
    names = [*(name for name in DETAILS if name in failure.details), *(name for name in failure.details if name not in DETAILS)]
    facts = [(name.replace("_", " "), failure.details[name]) for name in names]
    return [(name, value) for name, value in facts if value and not (name == "reason" and value in failure.message)]


def _places(failure: Failure, findings: list[Finding]) -> list[tuple[str, str]]:
    """Where the finding stands that the conversion was refused for."""
    found = [item.evidence for item in findings if item.title in failure.message]
    return [("at", place) for place in dict.fromkeys(found) if place and place not in failure.message]


def _state(detail: JobDetail) -> Content:
    job, result = detail.job, detail.result
    if job.state == "done" and isinstance(result, ConvertResult):
        return Content.assemble(("✓ passed", "bold $success") if result.passed else ("✗ failed its proof", "bold $error"))
    sign = "✗ " if job.state in ("failed", "lost") else ""
    return Content.assemble((f"{sign}{job.state}", f"bold {STATE_STYLES[job.state]}"))


def _second(detail: JobDetail) -> Content:
    job, progress = detail.job, detail.progress
    if job.active and progress is not None and progress.total:
        said = f"step {progress.done + 1:.0f} of about {progress.total:.0f}: {progress.message}"
        return Content.assemble((f"{bar(progress.done / progress.total)} ", "$primary"), said)
    if job.state == "queued":
        return Content("waits for a free slot")
    return Content.assemble((AFTER_FAILURE if detail.failure is not None else job.headline, "$muted"))


def _proven(detail: JobDetail, result: ConvertResult, width: int, home: str, prove: str) -> list[list[Content]]:
    """The proof, what float16 and the Neural Engine make of it in a line each or a few, and the file."""
    known = [*first_difference_rows(result.checks, width), *float16_summary(result, width), *hints_summary(result.hints, width)]
    return [proof_rows(result, width, prove), known, _output(detail, result, width, home)]


def _differing(result: ConvertResult, width: int) -> list[list[Content]]:
    """Where the values begin to differ or to break, then the figures."""
    return [first_difference_rows(result.checks, width), float16_summary(result, width), proof_rows(result, width, "")]


def _output(detail: JobDetail, result: ConvertResult, width: int, home: str) -> list[Content]:
    folder = f"{home}/jobs/{detail.job.id}/artifacts/" if home else f"job:{detail.job.id} "
    rows = [*titled("RESULT", Content(bytes_(result.bytes))), *wrapped(Content(f"  {folder}{result.output}"), width, "  ")]
    if isinstance(detail.spec, ConvertSpec) and detail.spec.output:
        rows += wrapped(Content(f"  also at  {detail.spec.output}"), width, "  ")
    return rows


def _found(title: str, findings: list[Finding], width: int) -> list[Content]:
    return [heading(title), *finding_rows(findings, width)] if findings else []


def _mended(result: ConvertResult) -> list[Finding]:
    """What was found beforehand, without what stands under REWRITTEN."""
    return [item for item in result.preflight if item.title.removeprefix("rewritten: ") not in result.rewrites]


def _others(detail: JobDetail, result: ConvertResult | None) -> list[Finding]:
    """The findings that stand nowhere else: not under PREFLIGHT, and not in the words of a failure or of the way."""
    before = {(item.title, item.evidence) for item in (result.preflight if result is not None else [])}
    checks = [note.text for note in detail.notes if is_check(note)]
    failed = detail.failure.message if detail.failure is not None else ""
    return [
        item
        for item in detail.all_findings
        if (item.title, item.evidence) not in before
        and item.title not in failed
        and not any(text in item.evidence for text in checks)
    ]
