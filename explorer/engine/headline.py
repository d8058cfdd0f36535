"""A result in the few words that stand beside a finished job."""

from explorer.schemas import roofline
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
    Check,
    ConvertResult,
    ExportResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    TrainResult,
)

FORMATS = {"onnx": "ONNX", "coreml": "Core ML", "pt2": "exported program"}


def headline(result: JobResult) -> str:
    """One short line: the figure a person looks for first."""
    match result:
        case TrainResult():
            return _train(result)
        case ConvertResult():
            return ", ".join([FORMATS[result.target], *map(_check, result.checks)])
        case EvaluateResult() | OperatorsResult() | HintsResult() | ProveResult():
            return _about_core_ml(result)
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
        case CeilingsResult():
            return _ceilings(result)
        case ExportResult():
            return f"{result.to}, {quantity(result.bytes, 'B')}"
        case ValuesResult() | DiffResult() | VerifyResult() | MatchResult() | LayersResult() | GraphResult():
            return _about_models(result)


def _about_core_ml(result: EvaluateResult | OperatorsResult | HintsResult | ProveResult) -> str:
    match result:
        case EvaluateResult():
            broken = f", {len(result.losses)} values not finite" if result.losses else ""
            return f"{result.operators:,} operators in {result.seconds:.2g} s{broken}"
        case OperatorsResult():
            return f"{len(result.known)} operators known, {len(result.missing)} missing"
        case HintsResult():
            return f"{len(result.hints)} hints" if len(result.hints) != 1 else "1 hint"
        case ProveResult():
            passed = sum(1 for unit in result.units if unit.check is not None and unit.check.passed)
            return f"{passed} of {len(result.units)} compute units passed on {result.machine}"


def _about_models(
    result: ValuesResult | DiffResult | VerifyResult | MatchResult | LayersResult | GraphResult,
) -> str:
    match result:
        case ValuesResult():
            bad = sum(1 for item in result.tensors if item.nans or item.infinities)
            return f"{bad} of {result.checked} tensors not finite" if bad else f"{result.checked} tensors, all finite"
        case DiffResult():
            return f"{len(result.changed)} changed, {len(result.added)} added, {len(result.removed)} removed"
        case VerifyResult():
            error = "" if result.max_abs_error is None else f", max error {result.max_abs_error:.1e}"
            return ("the same" if result.same else "different") + error
        case MatchResult():
            return "fits" if result.fits else f"{len(result.missing)} missing, {len(result.mismatched)} of another shape"
        case LayersResult():
            return f"{quantity(result.flops, 'FLOP')}, {result.parameters:,} parameters"
        case GraphResult():
            return f"{len(result.operators):,} operators"


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


def _ceilings(result: CeilingsResult) -> str:
    """The highest floating-point rate and the memory bandwidth of the device that has it."""
    rates = [item for item in result.ceilings if item.quantity == "matmul" and item.unit == "FLOP/s"]
    if not rates:
        return "no matmul rate measured"
    best = max(rates, key=lambda item: item.value)
    memory = roofline.bandwidth(result.ceilings, best.device)
    where = "" if best.device == "cpu" else f" on {best.device}"
    rate = f"{quantity(best.value, best.unit)} {best.dtype}"
    return (rate if memory is None else f"{rate}, {quantity(memory, 'B/s')}") + where
