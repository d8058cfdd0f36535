"""What each layer of a torch model costs: output shapes, parameters, FLOPs, activation memory and its share of the latency."""

from collections.abc import Sequence

from torch import Tensor, nn

from explorer.inference.example_inputs import example_inputs
from explorer.inference.findings import Findings
from explorer.inference.layer_flops import Counted, count_by_running, count_on_meta
from explorer.inference.layer_outputs import Output, leaves, parameter_counts, watched
from explorer.inference.layer_timing import Timed, time_layers
from explorer.inference.ports import parse_shapes
from explorer.models.sources import resolve
from explorer.models.user_code import blamed
from explorer.reporter import Reporter
from explorer.schemas.model_results import LayerCost, LayersResult
from explorer.schemas.model_specs import LayersSpec

HOOK_COST_LIMIT = 1.2


def run(spec: LayersSpec, report: Reporter) -> LayersResult:
    """Rows for every module that runs, containers included, in the order of their declaration; the whole model has the name "".

    FLOPs and activations are of one call on `spec.batch_size` samples; the sum of activations is over modules without parts.
    Raises `ExplorerError` when the model has no input that can be found or fails on it.
    """
    findings = Findings(report)
    loaded = resolve(spec.source, spec.weights)
    example = example_inputs(loaded, parse_shapes(spec.shapes))
    if example.origin.startswith("guessed"):
        shapes = ", ".join(_size(tensor) for tensor in example.tensors)
        findings.add("info", f"the input {shapes} is {example.origin}", "the source gives no example", "give its shape")
    inputs = [_batched(tensor, spec.batch_size) for tensor in example.tensors]
    module = loaded.module.eval()
    report.progress(0, None, "counting")
    counted, outputs = _count(module, inputs, spec, findings)
    timed = _time(module, inputs, spec, report, findings) if spec.latency else None
    return LayersResult(
        source=loaded.source,
        batch_size=spec.batch_size,
        input_shapes=[list(tensor.shape) for tensor in inputs],
        parameters=sum(parameter.numel() for parameter in module.parameters()),
        flops=counted.total,
        uncounted=counted.uncounted,
        activation_bytes=sum(outputs[path].bytes for path in leaves(outputs)),
        latency_ms=timed.whole_ms if timed else None,
        threads=spec.threads if timed else None,
        layers=_rows(module, outputs, counted, timed),
        findings=findings.found,
    )


def _batched(tensor: Tensor, batch_size: int) -> Tensor:
    """The first sample repeated; a scalar has no batch."""
    if tensor.ndim == 0:
        return tensor
    return tensor[:1].expand(batch_size, *tensor.shape[1:]).contiguous()


def _count(
    module: nn.Module, inputs: Sequence[Tensor], spec: LayersSpec, findings: Findings
) -> tuple[Counted, dict[str, Output]]:
    """On the meta device, or in a real run when a module needs values."""
    try:
        with watched(module) as outputs:
            counted = count_on_meta(module, inputs)
    except Exception as error:
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        with (
            blamed(f"{spec.source} fails on {', '.join(map(_size, inputs))}", "give an example input that fits"),
            watched(module) as outputs,
        ):
            counted = count_by_running(module, inputs)
        findings.add("warning", "counted in a real run: the model cannot run without values", reason[0][:200])
    if counted.uncounted:
        findings.add("info", "FLOPs leave out what has no formula", ", ".join(counted.uncounted))
    return counted, outputs


def _time(module: nn.Module, inputs: Sequence[Tensor], spec: LayersSpec, report: Reporter, findings: Findings) -> Timed:
    def on_round(done: int) -> None:
        report.control()
        report.progress(done, None, "timing", "rounds")

    with blamed(f"{spec.source} fails on {', '.join(map(_size, inputs))}", "give an example input that fits"):
        timed = time_layers(module, inputs, spec.threads, on_round)
    if timed.hooked_ms > HOOK_COST_LIMIT * timed.whole_ms:
        evidence = f"{timed.whole_ms:.3g} ms without the hooks, {timed.hooked_ms:.3g} ms with them"
        findings.add(
            "warning",
            "timing the layers slows the model: shares of small layers are too large",
            evidence,
            "make the batch larger",
        )
    return timed


def _rows(module: nn.Module, outputs: dict[str, Output], counted: Counted, timed: Timed | None) -> list[LayerCost]:
    parts = dict(module.named_modules())
    parameters = parameter_counts(module)
    times = timed.by_module_ms if timed else {}
    whole = timed.hooked_ms if timed else 0.0
    return [
        LayerCost(
            name=path,
            type=type(parts[path]).__name__,
            output_shapes=output.shapes,
            parameters=parameters[path],
            flops=counted.by_module.get(path, 0) if path else counted.total,
            activation_bytes=output.bytes,
            latency_ms=times.get(path),
            latency_share=times[path] / whole if path in times and whole else None,
        )
        for path, output in outputs.items()
    ]


def _size(tensor: Tensor) -> str:
    return "x".join(str(size) for size in tensor.shape) or "scalar"
