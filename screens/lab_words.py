"""What stands below the Lab's table: the running job, the latest comparison, the facts of a model; no widget."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import BenchmarkResult, CeilingsResult, ConvertResult, PruneResult, QuantizeResult
from screens.ceiling_words import variant_limit
from screens.job_words import STATE_STYLES, kin_line, short_id
from screens.jobs import bar
from screens.result_words import (
    conditions,
    fact_lines,
    finding_rows,
    heading,
    not_run_on_core_ml,
    proof_rows,
    ratio,
    result_facts,
    wrapped,
)
from screens.text import percent
from screens.variants import Model


def job_rows(job: JobSummary | None, width: int) -> list[Content]:
    """The job that runs, waits or failed last."""
    if job is None:
        return []
    first = Content.assemble((f"{job.kind} {job.model} ", "bold"), (job.state, f"bold {STATE_STYLES[job.state]}"))
    if job.active:
        share = "" if job.progress is None else f"  {bar(job.progress)} {percent(job.progress)}"
        return [Content.assemble("▶ ", first, (share, "$primary"), f"  {job.message}")]
    return wrapped(Content.assemble(("✗ ", "$error"), first, f"  {job.headline}"), width, "  ")


def null_rows(result: BenchmarkResult | None, job: JobSummary | None, width: int) -> list[Content]:
    """The baseline against itself and what the speeds were measured with."""
    if result is None:
        return [Content.assemble(("speed is not measured yet: b compares ONNX files against the first", "$muted"))]
    name = f" · job {short_id(job.id)}" if job is not None else ""
    null = Content.assemble(("null ratio ", "bold"), ratio(result.null_ratio), (f" · {conditions(result)}{name}", "$muted"))
    return [*wrapped(null, width, "  "), *finding_rows(result.findings, width)]


def model_facts(model: Model, jobs: dict[str, JobSummary], width: int, ceilings: CeilingsResult | None = None) -> list[Content]:
    """Lineage, figures (against the measured limits, too), proof and findings of a model."""
    rows = [Content.assemble((f"{model.name}", "bold"), (f" · {kin_line(model.job, jobs)}", "$muted"))]
    rows = [line for row in rows for line in wrapped(row, width, "  ")]
    if model.measured is not None:
        item = model.measured
        p90 = "too few rounds for a p90" if item.p90_ms is None else f"p90 {item.p90_ms:.3f} ms"
        rows.append(Content(f"{item.p50_ms:.3f} ms a call ({p90}), {ratio(item.speed_ratio)}, {item.verdict}"))
        if limit := variant_limit(item, ceilings, int8="int8" in model.steps):
            rows += wrapped(Content(limit), width, "  ")
    result = model.detail.result
    checks = result.checks if isinstance(result, ConvertResult | QuantizeResult) else []
    if isinstance(result, QuantizeResult | PruneResult):
        hidden = {f"{check.mode} error" for check in checks}
        facts = [fact for fact in result_facts(result) if fact[0] not in hidden]
        rows += [line for fact in fact_lines(facts, 14) for line in wrapped(fact, width, " " * 15)]
    elif result is not None and not checks:
        rows += [line for fact in fact_lines(result_facts(result), 14) for line in wrapped(fact, width, " " * 15)]
    if checks:
        rows += [Content(""), heading("PROOF"), *proof_rows(checks, width)]
        if missing := not_run_on_core_ml(checks):
            rows += wrapped(Content.assemble((f"  {missing}", "$warning")), width, "  ")
    if found := model.detail.all_findings:
        rows += [Content(""), heading("FINDINGS"), *finding_rows(found, width)]
    return rows
