"""A result in the few words that stand beside a finished job."""

from explorer.schemas.results import (
    BenchmarkResult,
    Check,
    ConvertResult,
    InspectResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    TrainResult,
)


def headline(result: JobResult) -> str:
    """One short line: the figure a person looks for first."""
    match result:
        case TrainResult():
            return _train(result)
        case ConvertResult():
            return ", ".join([{"onnx": "ONNX", "coreml": "Core ML"}[result.target], *map(_check, result.checks)])
        case QuantizeResult():
            return f"{result.size_ratio:.2f} of the size{_accuracy(result.source_accuracy, result.accuracy)}"
        case PruneResult():
            ratio = result.parameters / max(1, result.source_parameters)
            what = f"{result.zero_share:.0%} zeros" if result.method == "l1_unstructured" else f"{ratio:.2f} of the parameters"
            return what + _accuracy(result.source_accuracy, result.accuracy)
        case BenchmarkResult():
            return _benchmark(result)
        case InspectResult():
            return f"{result.format_name}, {result.parameters:,} parameters"


def _train(result: TrainResult) -> str:
    name = next((name for name in ("val_accuracy", "val_loss", "loss") if name in result.metrics), "")
    figure = f"{name.replace('_', ' ')} {result.metrics[name]:.4g}" if name else f"{result.steps:,} steps"
    return f"{figure} in {result.seconds:.0f} s on {result.device}"


def _check(check: Check) -> str:
    return f"{check.mode} error {check.max_abs_error:.1e}"


def _accuracy(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    return f", accuracy {after:.4f} ({(after - before) * 100:+.1f} pt)"


def _benchmark(result: BenchmarkResult) -> str:
    rated = [variant for variant in result.variants if variant.verdict == "faster"]
    if not rated:
        noisy = any(variant.verdict == "too noisy" for variant in result.variants)
        return "too noisy for a verdict" if noisy else "none faster than the baseline"
    best = max(rated, key=lambda variant: variant.speed_ratio.value)
    return f"{best.name} {best.speed_ratio.value:.1f}x"
