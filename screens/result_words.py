"""Results, checks and findings in words: labels and values, and the proof table."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from explorer.schemas.convert_result import EvaluateResult, HintsResult, OperatorsResult, ProveResult
from explorer.schemas.events import Failure, Finding
from explorer.schemas.results import (
    BenchmarkResult,
    CeilingsResult,
    Check,
    ConvertResult,
    ExportResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    Ratio,
    TrainResult,
)
from explorer.schemas.specs import Spec
from screens.ceiling_words import ceiling_facts
from screens.convert_result_words import core_ml_facts
from screens.model_result_words import model_facts
from screens.text import NONE, bytes_, count, duration, number, percent
from screens.train_result_words import trained_facts

SIGNS = {"info": "·", "warning": "!", "error": "✗"}
STYLES = {"info": "$muted", "warning": "$warning", "error": "$error"}
CORE_ML = "Core ML"


def result_facts(result: JobResult) -> list[tuple[str, str]]:
    """Labels and values of a result, the figure that people look for first on top."""
    match result:
        case TrainResult():
            return trained_facts(result)
        case ConvertResult():
            return [*map(check_fact, result.checks), ("bytes", bytes_(result.bytes)), ("took", duration(result.seconds))]
        case EvaluateResult() | OperatorsResult() | HintsResult() | ProveResult():
            return core_ml_facts(result)
        case QuantizeResult():
            return _quantized(result)
        case PruneResult():
            return _pruned(result)
        case BenchmarkResult():
            return _benchmarked(result)
        case CeilingsResult():
            return ceiling_facts(result)
        case ExportResult():
            return _exported(result)
        case _:
            return model_facts(result)


def ratio(value: Ratio) -> str:
    """A ratio with its interval, such as `2.40x [2.31, 2.52]`."""
    return f"{value.value:.2f}x [{value.low:.2f}, {value.high:.2f}]"


def check_fact(check: Check) -> tuple[str, str]:
    """One check as a labelled line."""
    agreement = "" if check.agreement is None else f", same class {percent(check.agreement, 1)}"
    verdict = "passed" if check.passed else "failed"
    return f"{check.mode} error", f"{number(check.max_abs_error)}, SNR {check.snr_db:.0f} dB{agreement}, {verdict}"


def proof_rows(checks: Sequence[Check], width: int) -> list[Content]:
    """The proof as a table of at most `width` columns: runtime, precision, largest error, SNR, agreement, verdict."""
    if not checks:
        return []
    room = max(12, min(27, width - 54))
    rows = [
        Content.assemble((f"{'runtime':<{room}}  {'mode':<8} {'max error':>10} {'SNR':>7} {'same class':>10}  verdict", "$muted"))
    ]
    for check in checks:
        agreement = NONE if check.agreement is None else percent(check.agreement, 1)
        error = number(check.max_abs_error)
        text = f"{_short(check.runtime, room):<{room}}  {check.mode:<8} {error:>10} {check.snr_db:>4.0f} dB {agreement:>10}  "
        verdict = ("✓ passed", "$success") if check.passed else ("✗ failed", "$error")
        rows.append(Content.assemble(text, verdict))
        rows.append(Content.assemble((f"  {check.samples} inputs, tolerance {check.tolerance}", "$muted")))
        if check.first_difference:
            rows.append(Content(f"  first difference  {check.first_difference}"))
    return rows


def _short(name: str, room: int) -> str:
    """As many of the name's words as fit."""
    return name if len(name) <= room else name[: room + 1].rpartition(" ")[0] or name[:room]


def not_run_on_core_ml(checks: Sequence[Check]) -> str:
    """What the proof of a Core ML package does not say; empty when Core ML itself ran or nothing was meant for it."""
    said = [check.runtime for check in checks if check.runtime.startswith(CORE_ML)]
    if not said or any("reference" not in runtime for runtime in said):
        return ""
    return "reference check, not run on Core ML (that needs macOS)"


def finding_rows(findings: Sequence[Finding], width: int) -> list[Content]:
    """A statement a row with its evidence and remedy indented below, wrapped to `width`."""
    rows: list[Content] = []
    for item in findings:
        head = Content.assemble((f"{SIGNS[item.severity]} ", f"bold {STYLES[item.severity]}"), item.title)
        rows += wrapped(head, width, "  ")
        for text in (item.evidence, item.remedy and f"→ {item.remedy}"):
            if text:
                rows += wrapped(Content.assemble(("  " + text, "$muted")), width, "  ")
    return rows


def failure_rows(failure: Failure, width: int) -> list[Content]:
    """Message, cause, remedy and the end of the log of a failed job."""
    rows = wrapped(Content.assemble(("✗ ", "bold $error"), (failure.message, "bold")), width, "  ")
    if failure.remedy:
        rows += wrapped(Content(f"→ {failure.remedy}"), width, "  ")
    if failure.cause and failure.cause not in failure.message:
        rows += wrapped(Content.assemble((f"  cause: {failure.cause}", "$muted")), width, "  ")
    return rows + [Content.assemble((f"  {line}", "$muted")) for line in failure.log_tail]


def wrapped(content: Content, width: int, indent: str = "") -> list[Content]:
    """`content` broken into rows of `width`, those after the first indented."""
    first, *rest = content.wrap(max(10, width)) or [content]
    if not rest:
        return [first]
    again = Content(" ").join(rest).wrap(max(10, width - len(indent)))
    return [first, *(Content.assemble(indent, row) for row in again)]


def heading(text: str) -> Content:
    """The title of a part of a screen."""
    return Content.assemble((text, "bold $primary"))


def fact_lines(facts: Sequence[tuple[str, str]], room: int = 18) -> list[Content]:
    """Labels in a column, values beside them."""
    return [Content.assemble((f"{label:<{room}} ", "$muted"), value) for label, value in facts]


def spec_facts(spec: Spec) -> list[tuple[str, str]]:
    """A spec's fields that are set, in their order, as labels and values."""
    values = spec.model_dump(exclude={"kind"})
    return [(name.replace("_", " "), plain(value)) for name, value in values.items() if value is not None and value != []]


def plain(value: object) -> str:
    """A field's value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _exported(result: ExportResult) -> list[tuple[str, str]]:
    values = f"{count(result.values)} over {count(result.steps)} steps: {', '.join(result.names)}"
    written = [("written", f"{result.output}, {bytes_(result.bytes)}"), ("of", result.source)]
    return [*written, *([("values", values)] if result.names else [])]


def _quantized(result: QuantizeResult) -> list[tuple[str, str]]:
    return [
        ("size", f"{bytes_(result.bytes)}, {result.size_ratio:.2f} of {bytes_(result.source_bytes)}"),
        *_accuracy(result.source_accuracy, result.accuracy),
        ("int8 nodes", f"{result.int8_nodes} of {result.int8_nodes + result.float_nodes}"),
        *([("in float", ", ".join(result.float_node_names))] if result.float_node_names else []),
        *map(check_fact, result.checks),
    ]


def _pruned(result: PruneResult) -> list[tuple[str, str]]:
    share = result.parameters / max(1, result.source_parameters)
    return [
        ("parameters", f"{count(result.parameters)}, {share:.2f} of {count(result.source_parameters)}"),
        ("zeros", percent(result.zero_share, 1)),
        ("size", f"{bytes_(result.bytes)}, was {bytes_(result.source_bytes)}"),
        ("gzipped", f"{bytes_(result.gzip_bytes)}, was {bytes_(result.source_gzip_bytes)}"),
        *_accuracy(result.source_accuracy, result.accuracy),
        *([("before tuning", percent(result.pruned_accuracy, 2))] if result.pruned_accuracy is not None else []),
    ]


def _benchmarked(result: BenchmarkResult) -> list[tuple[str, str]]:
    rows = [(item.name, f"{item.p50_ms:.3f} ms  {ratio(item.speed_ratio)}  {item.verdict}") for item in result.variants]
    return [*rows, ("null", ratio(result.null_ratio)), ("measured with", conditions(result))]


def conditions(result: BenchmarkResult) -> str:
    """What a comparison was measured with."""
    threads = f"{result.threads} thread{'s' if result.threads > 1 else ''}"
    measured = f"{result.rounds} interleaved rounds, load {result.load_average:.1f}"
    return f"{result.runtime}, {threads}, batch {result.batch_size}, {measured}"


def _accuracy(before: float | None, after: float | None) -> list[tuple[str, str]]:
    if before is None or after is None:
        return []
    return [("accuracy", f"{percent(after, 2)}, was {percent(before, 2)} ({(after - before) * 100:+.2f} pt)")]
