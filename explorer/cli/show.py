"""Results as a few lines of plain text."""

from collections.abc import Sequence
from pathlib import Path

from explorer.schemas.results import (
    BenchmarkResult,
    Check,
    ConvertResult,
    InspectResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    TrainResult,
    Variant,
)

SHOWN_TENSORS = 40


def table(rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Rows as aligned lines; the columns in `right` are set flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            _cell(text, width, column in right) for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def result_lines(result: JobResult, output: Path = Path()) -> list[str]:
    """A result for a person."""
    match result:
        case InspectResult():
            return _inspect(result)
        case TrainResult():
            figures = "  ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
            return [
                f"{result.device} ({result.device_reason})",
                f"{result.steps:,} steps in {result.seconds:.1f} s",
                figures,
                result.model,
            ]
        case ConvertResult():
            return [f"{output}  {result.bytes:,} bytes", "route  " + " > ".join(result.route), *map(_check, result.checks)]
        case QuantizeResult():
            share = f"{result.int8_nodes} compute nodes in int8, {result.float_nodes} in float"
            size = f"{output}  {result.bytes:,} bytes, {result.size_ratio:.2f} of the source"
            return [size, share, *_accuracies(result.source_accuracy, result.accuracy), *map(_check, result.checks)]
        case PruneResult():
            return _prune(result)
        case BenchmarkResult():
            return benchmark_lines(result)


def benchmark_lines(result: BenchmarkResult) -> list[str]:
    """The table of variants under what it was measured with."""
    head = ["variant", "bytes", "size", "accuracy", "p50", "p90", "speed", "verdict"]
    rows = table([head, *map(_variant, result.variants)], right=(1, 2, 3, 4, 5))
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
        speed,
        row.verdict,
    ]


def _inspect(result: InspectResult) -> list[str]:
    lines = [
        f"{result.source}",
        f"{result.format_name}, {result.bytes:,} bytes, {result.parameters:,} parameters",
        result.safety,
    ]
    lines += [f"input   {port.name} {_shape(port.shape)} {port.dtype}" for port in result.inputs]
    lines += [f"output  {port.name} {_shape(port.shape)} {port.dtype}" for port in result.outputs]
    tensors = [[item.name, _shape(item.shape), item.dtype, f"{item.bytes:,}"] for item in result.tensors[:SHOWN_TENSORS]]
    lines += table(tensors, right=(3,)) if tensors else []
    if len(result.tensors) > SHOWN_TENSORS:
        lines.append(f"and {len(result.tensors) - SHOWN_TENSORS} more tensors; --json lists all")
    return lines + [f"{finding.severity}: {finding.title}" for finding in result.findings]


def _prune(result: PruneResult) -> list[str]:
    return [
        f"{result.parameters:,} of {result.source_parameters:,} parameters, {result.zero_share:.1%} zeros",
        f"{result.bytes:,} bytes (was {result.source_bytes:,}), gzipped {result.gzip_bytes:,} (was {result.source_gzip_bytes:,})",
        *_accuracies(result.source_accuracy, result.accuracy),
        result.model,
    ]


def _accuracies(before: float | None, after: float | None) -> list[str]:
    return [] if before is None or after is None else [f"held-out accuracy {after:.4f} (was {before:.4f})"]


def _check(check: Check) -> str:
    agreement = "" if check.agreement is None else f", same class on {check.agreement:.1%}"
    verdict = "passed" if check.passed else "failed"
    return (
        f"{check.runtime} {check.mode}: max error {check.max_abs_error:.1e}, SNR {check.snr_db:.0f} dB{agreement} "
        f"on {check.samples} inputs: {verdict} ({check.tolerance})"
    )


def _shape(shape: Sequence[int | str]) -> str:
    return " x ".join(map(str, shape)) if shape else "scalar"


def _cell(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
