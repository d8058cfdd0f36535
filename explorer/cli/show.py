"""Results as a few lines of plain text."""

from pathlib import Path

from explorer.cli import show_models
from explorer.cli.ceilings_lines import ceilings_lines
from explorer.cli.show_convert import check_line, convert_lines, evaluate_lines, hints_lines, operators_lines, prove_lines
from explorer.cli.table import table
from explorer.schemas.convert_result import EvaluateResult, HintsResult, OperatorsResult, ProveResult
from explorer.schemas.model_results import (
    DiffResult,
    GraphResult,
    InspectResult,
    LayersResult,
    MatchResult,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.quantities import quantity
from explorer.schemas.results import (
    BenchmarkResult,
    CeilingsResult,
    ConvertResult,
    ExportResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    TrainResult,
    Variant,
)


def result_lines(result: JobResult, output: Path = Path()) -> list[str]:
    """A result for a person."""
    match result:
        case InspectResult():
            return show_models.inspect_lines(result)
        case ValuesResult():
            return show_models.values_lines(result)
        case DiffResult():
            return show_models.diff_lines(result)
        case VerifyResult():
            return show_models.verify_lines(result)
        case MatchResult():
            return show_models.match_lines(result)
        case LayersResult():
            return show_models.layers_lines(result)
        case GraphResult():
            return show_models.graph_lines(result)
        case TrainResult():
            return _train(result)
        case ConvertResult():
            return convert_lines(result, output)
        case EvaluateResult():
            return evaluate_lines(result)
        case OperatorsResult():
            return operators_lines(result)
        case HintsResult():
            return hints_lines(result)
        case ProveResult():
            return prove_lines(result)
        case QuantizeResult():
            share = f"{result.int8_nodes} compute nodes in int8, {result.float_nodes} in float"
            size = f"{output}  {result.bytes:,} bytes, {result.size_ratio:.2f} of the source"
            return [
                size,
                share,
                *_accuracies(result.source_accuracy, result.accuracy),
                *map(check_line, result.checks),
            ]
        case PruneResult():
            return _prune(result)
        case BenchmarkResult():
            return benchmark_lines(result)
        case CeilingsResult():
            return ceilings_lines(result)
        case ExportResult():
            what = f"  {result.values:,} values of {len(result.names)} metrics" if result.names else ""
            return [f"{result.output}  {result.bytes:,} bytes{what}"]


def benchmark_lines(result: BenchmarkResult) -> list[str]:
    """The table of variants under what it was measured with."""
    head = ["variant", "bytes", "size", "accuracy", "p50", "p90", "rate", "speed", "verdict"]
    rows = table([head, *map(_variant, result.variants)], right=(1, 2, 3, 4, 5, 6))
    null = result.null_ratio
    conditions = (
        f"{result.runtime}, {result.threads} thread, batch {result.batch_size}, {result.rounds} interleaved rounds, "
        f"null {null.value:.2f} [{null.low:.2f}, {null.high:.2f}], load {result.load_average:.1f}"
    )
    return [*rows, conditions]


def _variant(row: Variant) -> list[str]:
    ratio = row.speed_ratio
    speed = f"{ratio.value:.2f}x [{ratio.low:.2f}, {ratio.high:.2f}]"
    accuracy = "–" if row.accuracy is None else f"{row.accuracy:.4f}"
    return [
        row.name,
        f"{row.bytes:,}",
        f"{row.size_ratio:.2f}",
        accuracy,
        f"{row.p50_ms:.3f} ms",
        "–" if row.p90_ms is None else f"{row.p90_ms:.3f} ms",
        "–" if row.flops is None or row.p50_ms <= 0 else quantity(row.flops / row.p50_ms * 1e3, "FLOP/s"),
        speed,
        row.verdict,
    ]


def _train(result: TrainResult) -> list[str]:
    figures = "  ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    speed = "" if result.samples_per_s is None else f", {result.samples_per_s:,.0f} samples/s"
    if result.samples_per_s is not None and result.flops_per_sample is not None:
        speed += f", {quantity(result.samples_per_s * result.flops_per_sample, 'FLOP/s')}"
    return [
        f"{result.device} ({result.device_reason})",
        f"{result.steps:,} steps in {result.seconds:.1f} s{speed}",
        figures,
        result.model,
    ]


def _prune(result: PruneResult) -> list[str]:
    return [
        f"{result.parameters:,} of {result.source_parameters:,} parameters, {result.zero_share:.1%} zeros",
        f"{result.bytes:,} bytes (was {result.source_bytes:,}), gzipped {result.gzip_bytes:,} (was {result.source_gzip_bytes:,})",
        *_accuracies(result.source_accuracy, result.accuracy),
        result.model,
    ]


def _accuracies(before: float | None, after: float | None) -> list[str]:
    return [] if before is None or after is None else [f"held-out accuracy {after:.4f} (was {before:.4f})"]
