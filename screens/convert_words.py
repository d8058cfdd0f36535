"""One conversion in words: heading, way, proof, findings; no widget."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec
from screens.job_detail import JobDetail
from screens.job_words import STATE_STYLES, find_job, short_id
from screens.result_words import fact_lines, failure_rows, finding_rows, heading, not_run_on_core_ml, plain, proof_rows, wrapped
from screens.text import bytes_, duration

ONNX_ONLY = ("opset",)
CORE_ML_ONLY = ("precision", "deployment_target")
TARGETS = {"onnx": "ONNX", "coreml": "Core ML"}


def head_rows(detail: JobDetail, place: str) -> list[Content]:
    """From what to what, its state; then how far it is or where the result lies."""
    job, spec = detail.job, detail.spec
    target = f" → {target_words(spec)}" if isinstance(spec, ConvertSpec) else ""
    took = f" in {duration(job.ended - job.started)}" if job.started and job.ended and not job.active else ""
    first = Content.assemble(
        (f"{job.model}{target}", "bold"),
        "  ",
        (job.state, f"bold {STATE_STYLES[job.state]}"),
        (f"{took} · job {short_id(job.id)}{place}", "$muted"),
    )
    return [first, _second(detail)]


def target_words(spec: ConvertSpec) -> str:
    """The format with what matters of it."""
    if spec.target == "onnx":
        return f"ONNX opset {spec.opset}"
    return f"Core ML {spec.precision}, {spec.deployment_target}"


def asked_rows(spec: ConvertSpec, jobs: dict[str, JobSummary]) -> list[Content]:
    """The values that were asked for, without those of the other format."""
    other = CORE_ML_ONLY if spec.target == "onnx" else ONNX_ONLY
    values = spec.model_dump(exclude={"kind", *other})
    facts = [(name.replace("_", " "), _source(value, jobs)) for name, value in values.items() if value is not None]
    return [heading("ASKED"), *fact_lines(facts, 14)]


def proof_part(detail: JobDetail, width: int, home: str) -> list[Content]:
    """Failure, or the proof with what it does not say, then the file and the findings."""
    rows: list[Content] = []
    if detail.failure is not None:
        rows += [heading("WHY IT FAILED"), *failure_rows(detail.failure, width), Content("")]
    if isinstance(detail.result, ConvertResult):
        rows += [*_proof(detail.result, width), Content("")]
        rows += [
            Content.assemble(heading("RESULT"), f"  {bytes_(detail.result.bytes)}"),
            *_output(detail, detail.result, width, home),
            Content(""),
        ]
    if found := detail.all_findings:
        rows += [heading("FINDINGS"), *finding_rows(found, width), Content("")]
    return rows


def route_part(detail: JobDetail, width: int) -> list[Content]:
    """The steps that were gone, live from the log, at the end as the result names them."""
    if isinstance(detail.result, ConvertResult):
        steps = [Content.assemble(_step_sign(step), step) for step in detail.result.route]
    else:
        styles = {"info": "", "warning": "$warning", "error": "$error"}
        steps = [Content.assemble(_step_sign(note.text), (note.text, styles[note.level])) for note in detail.notes]
    if detail.job.active and detail.progress is not None:
        steps.append(Content.assemble(("▸ ", "$primary"), (detail.progress.message, "bold")))
    return [heading("ROUTE"), *(row for step in steps for row in wrapped(step, width, "  "))] if steps else []


def _second(detail: JobDetail) -> Content:
    job, progress = detail.job, detail.progress
    if job.active and progress is not None and progress.total:
        return Content(f"step {progress.done + 1:.0f} of about {progress.total:.0f}: {progress.message}")
    if job.state == "queued":
        return Content("waits for a free slot")
    return Content.assemble((job.headline, "$muted" if job.state == "done" else ""))


def _proof(result: ConvertResult, width: int) -> list[Content]:
    verdict = ("passed", "bold $success") if result.passed else ("failed", "bold $error")
    rows = [Content.assemble(heading("PROOF"), " ", verdict), *proof_rows(result.checks, width)]
    if missing := not_run_on_core_ml(result.checks):
        rows += wrapped(Content.assemble((f"  {missing}", "$warning")), width, "  ")
    return rows


def _output(detail: JobDetail, result: ConvertResult, width: int, home: str) -> list[Content]:
    folder = f"{home}/jobs/{detail.job.id}/artifacts/" if home else f"job:{detail.job.id} "
    rows = wrapped(Content(f"{folder}{result.output}"), width, "  ")
    if isinstance(detail.spec, ConvertSpec) and detail.spec.output:
        rows += wrapped(Content(f"also at  {detail.spec.output}"), width, "  ")
    return rows


def _step_sign(text: str) -> tuple[str, str]:
    return ("✗ ", "$error") if " failed after " in text or text.endswith("FAILED") else ("✓ ", "$success")


def _source(value: object, jobs: dict[str, JobSummary]) -> str:
    text = plain(value)
    job = find_job(text, jobs)
    return f"{job.kind} {job.model} ({short_id(job.id)})" if job is not None else text
