"""The journey from first start to smaller, checked models: the same specs through the same engine as any job."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from explorer.engine.client import Engine
from explorer.errors import ExplorerError
from explorer.schemas.events import Event, Failure, Result
from explorer.schemas.readings import Inventory
from explorer.schemas.results import (
    RESULT_ADAPTER,
    BenchmarkResult,
    Check,
    ConvertResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    TrainResult,
    Variant,
)
from explorer.schemas.specs import (
    BenchmarkSpec,
    ConvertSpec,
    PruneSpec,
    QuantizeSpec,
    Spec,
    TrainSpec,
    sources,
)

MODEL = "samples/digits_cnn.py:digits_cnn"
# Small logits keep small the rounding that separates float32 runtimes, and the digits are learned more evenly.
LABEL_SMOOTHING = 0.1
# Steps this small gain nothing from a second thread, and lose much when something else wants the core.
THREADS = 1
R = TypeVar("R", bound=JobResult)


@dataclass(frozen=True)
class TourSummary:
    """The tour's end: `figures` is the documented JSON object, `sentences` say the same to people."""

    figures: dict[str, Any]
    benchmark: BenchmarkResult
    sentences: list[str]


class Tour:
    """Runs the journey; `said` gets a line a step, `heard` every event of every job."""

    def __init__(self, engine: Engine, *, said: Callable[[str], None], heard: Callable[[Event], None]) -> None:
        self._engine = engine
        self._said = said
        self._heard = heard

    async def run(self) -> TourSummary:
        """The whole journey; raises `ExplorerError` with the first job that fails."""
        started_s = time.monotonic()
        inventory = await self._engine.inventory()
        self._said(f"this machine: {machine(inventory)}")

        trained, train = await self._job(TrainSpec(source=MODEL, label_smoothing=LABEL_SMOOTHING, threads=THREADS), TrainResult)
        base, onnx = await self._job(ConvertSpec(source=trained, target="onnx"), ConvertResult)
        package, coreml = await self._job(ConvertSpec(source=trained, target="coreml"), ConvertResult)
        int8, quantized = await self._job(QuantizeSpec(source=base), QuantizeResult)
        _, light = await self._job(QuantizeSpec(source=package), QuantizeResult)
        zeroed, unstructured = await self._job(PruneSpec(source=trained, method="l1_unstructured"), PruneResult)
        zeroed_onnx, _ = await self._job(ConvertSpec(source=zeroed, target="onnx"), ConvertResult)
        cut, pruned = await self._job(PruneSpec(source=trained, method="structural", threads=THREADS), PruneResult)
        cut_onnx, _ = await self._job(ConvertSpec(source=cut, target="onnx"), ConvertResult)
        cut_int8, _ = await self._job(QuantizeSpec(source=cut_onnx), QuantizeResult)
        variants = {"base": base, "int8": int8, "l1 zeros": zeroed_onnx, "pruned": cut_onnx, "pruned + int8": cut_int8}
        spec = BenchmarkSpec(models=list(variants.values()), names=list(variants))
        _, benchmark = await self._job(spec, BenchmarkResult)

        rows = {row.name: row for row in benchmark.variants}
        figures = {
            "device": train.device,
            "test_accuracy": train.metrics["test_accuracy"],
            "onnx_max_abs_error": onnx.checks[0].max_abs_error,
            **_coreml_figures(coreml),
            **_quantize_figures(quantized),
            "coreml_int8_size_ratio": light.size_ratio,
            "coreml_int8_agreement": light.checks[0].agreement,
            **_prune_figures(unstructured, pruned, rows),
            **_latency_figures(benchmark, rows),
            "seconds": round(time.monotonic() - started_s, 1),
        }
        return TourSummary(figures, benchmark, _sentences(figures))

    async def _job(self, spec: Spec, result_type: type[R]) -> tuple[str, R]:
        """Run one job to its end; its source text for the jobs that build on it, and its result."""
        job = await self._engine.submit(spec)
        self._said(f"{spec.kind} {_what(spec)}, job {job.id}")
        result: JobResult | None = None
        async for event in self._engine.follow(job.id):
            self._heard(event)
            if isinstance(event, Failure):
                raise ExplorerError(f"{spec.kind} failed in job {job.id}: {event.message}", event.remedy)
            if isinstance(event, Result):
                result = RESULT_ADAPTER.validate_python(event.result)
        if not isinstance(result, result_type):
            raise ExplorerError(f"job {job.id} ended without a result", f"`explorer jobs log {job.id}` says more")
        return f"job:{job.id}", result


def machine(inventory: Inventory) -> str:
    """The machine in a few words, from whatever readings it has."""
    names = ("chip.name", "cpu.logical", "os.name")
    known = [inventory.get(name) for name in names if inventory.get(name).known]
    return ", ".join(f"{reading.value} {reading.unit}".strip() for reading in known) or "no readings"


def _what(spec: Spec) -> str:
    match spec:
        case ConvertSpec():
            return f"to {spec.target}"
        case QuantizeSpec() | PruneSpec():
            return spec.method
        case BenchmarkSpec():
            return ", ".join(spec.names)
        case _:
            return ", ".join(sources(spec))


def _check_of(result: ConvertResult, mode: str) -> Check:
    found = next((check for check in result.checks if check.mode == mode), None)
    if found is None:
        raise ExplorerError(f"the conversion made no {mode} check", "that is a defect of explorer; please report it")
    return found


def _coreml_figures(result: ConvertResult) -> dict[str, Any]:
    return {
        "coreml_float32_max_abs_error": _check_of(result, "float32").max_abs_error,
        "coreml_float16_agreement": _check_of(result, "float16").agreement,
    }


def _quantize_figures(result: QuantizeResult) -> dict[str, Any]:
    return {
        "int8_size_ratio": result.size_ratio,
        "int8_accuracy": result.accuracy,
        "int8_nodes": result.int8_nodes,
        "float_nodes": result.float_nodes,
    }


def _prune_figures(unstructured: PruneResult, pruned: PruneResult, rows: dict[str, Variant]) -> dict[str, Any]:
    return {
        "unstructured_zero_share": unstructured.zero_share,
        "unstructured_size_ratio": unstructured.bytes / unstructured.source_bytes,
        "pruned_parameter_ratio": pruned.parameters / pruned.source_parameters,
        "pruned_accuracy": pruned.accuracy,
        "pruned_int8_size_ratio": rows["pruned + int8"].size_ratio,
        "pruned_int8_accuracy": rows["pruned + int8"].accuracy,
    }


def _latency_figures(benchmark: BenchmarkResult, rows: dict[str, Variant]) -> dict[str, Any]:
    names = {"int8": "int8", "unstructured": "l1 zeros", "pruned": "pruned", "pruned_int8": "pruned + int8"}
    figures: dict[str, Any] = {}
    for key, name in names.items():
        ratio = rows[name].speed_ratio
        figures[f"{key}_speed_ratio"] = ratio.value
        figures[f"{key}_speed_interval"] = [ratio.low, ratio.high]
        figures[f"{key}_speed_verdict"] = rows[name].verdict
    null = benchmark.null_ratio
    return figures | {"null_ratio": null.value, "null_interval": [null.low, null.high], "latency_threads": benchmark.threads}


def _sentences(figures: dict[str, Any]) -> list[str]:
    return [
        f"trained on {figures['device']} to {figures['test_accuracy']:.4f} on held-out digits",
        f"ONNX differs from torch by {figures['onnx_max_abs_error']:.1e}, Core ML in float32 by "
        f"{figures['coreml_float32_max_abs_error']:.1e}; in float16 it gives the same class on "
        f"{figures['coreml_float16_agreement']:.1%} (reference check, not run on Core ML)",
        f"int8: {figures['int8_nodes']} compute nodes in int8, {figures['float_nodes']} in float; the Core ML package "
        f"with int8 weights is {figures['coreml_int8_size_ratio']:.2f} of the float16 one",
        f"L1 zeros: {figures['unstructured_zero_share']:.0%} of the weights are zero, the file is "
        f"{figures['unstructured_size_ratio']:.2f} of its size, speed {_speed(figures, 'unstructured')}",
        f"structural pruning keeps {figures['pruned_parameter_ratio']:.2f} of the parameters "
        f"at accuracy {figures['pruned_accuracy']:.4f}",
        f"all of it in {figures['seconds']:.0f} s; `explorer` shows each job, `explorer tour --json` the figures",
    ]


def _speed(figures: dict[str, Any], key: str) -> str:
    low, high = figures[f"{key}_speed_interval"]
    return f"{figures[f'{key}_speed_ratio']:.2f}x [{low:.2f}, {high:.2f}], {figures[f'{key}_speed_verdict']}"
