"""The quantization job: an ONNX file or a Core ML package in eight bits, checked against its source."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explorer.compression.budget import check_accuracy, check_smaller
from explorer.compression.formats import Array, Format, format_of
from explorer.compression.int8_nodes import ComputeNodes
from explorer.conversion.destination import deliver, destination
from explorer.datasets.load import Parts, accuracy, read
from explorer.errors import ExplorerError
from explorer.inference.compare import Tolerance, compare
from explorer.inference.findings import Findings
from explorer.models.sources import resolve_file, source_data
from explorer.reporter import Reporter
from explorer.schemas.results import Check, QuantizeResult
from explorer.schemas.specs import QuantizeSpec

ARTIFACTS = ("model.onnx", "model.mlpackage")
# Eight bits give 28 to 45 dB where they work and 5 dB on badly scaled networks; where there are classes, accuracy decides too.
WITH_CLASSES, WITHOUT_CLASSES = Tolerance(min_snr_db=10), Tolerance(min_snr_db=20)
RANDOM_SAMPLES = 64


@dataclass(frozen=True)
class Trial:
    """A quantized file measured against its source."""

    source_bytes: int
    bytes: int
    size_ratio: float
    nodes: ComputeNodes
    check: Check
    source_accuracy: float | None
    accuracy: float | None


def run(spec: QuantizeSpec, report: Reporter) -> QuantizeResult:
    """Quantize, check against the source, and write `model.onnx` or `model.mlpackage`.

    Raises `ExplorerError`, leaving nothing behind, when accuracy falls by more than allowed, outputs differ too much,
    or nothing became smaller or int8.
    """
    source = _source_file(spec)
    format_ = format_of(source, spec.method)
    target = destination(spec.output, format_.target)
    data = spec.data or source_data(spec.source)
    findings = Findings(report)
    name = f"model{format_.ending}"
    with report.artifact(name) as path:
        report.progress(0, 2, f"quantizing {source.name}", "steps")
        parts = read(data) if data else None
        samples = parts.train.spread(spec.calibration_samples).inputs if parts and format_.calibrated else None
        format_.quantize(source, path, samples, spec.per_channel)
        report.control()
        report.progress(1, 2, "checking against the source", "steps")
        trial = _tried(format_, source, path, parts)
        _say_nodes(format_, trial.nodes, findings)
        _accept(source, trial, spec)
    report.progress(2, 2, "done", "steps")
    if target is not None:
        deliver(report.folder / name, target)
    return _result(format_, name, trial, findings, target)


def _result(format_: Format, name: str, trial: Trial, findings: Findings, target: Path | None) -> QuantizeResult:
    return QuantizeResult(
        method=format_.method,
        output=name,
        delivered=None if target is None else str(target),
        source_bytes=trial.source_bytes,
        bytes=trial.bytes,
        size_ratio=trial.size_ratio,
        int8_nodes=len(trial.nodes.int8),
        float_nodes=len(trial.nodes.floating),
        float_node_names=trial.nodes.floating,
        source_accuracy=trial.source_accuracy,
        accuracy=trial.accuracy,
        checks=[trial.check],
        findings=findings.found,
    )


def _source_file(spec: QuantizeSpec) -> Path:
    names_code = spec.source.endswith(".py") or (":" in spec.source and not spec.source.startswith("job:"))
    if names_code and not Path(spec.source).exists():
        raise ExplorerError(
            f"{spec.source} is code, not an .onnx file or an .mlpackage", "convert it first with `explorer convert`"
        )
    return resolve_file(spec.source, ARTIFACTS)


def _tried(format_: Format, source: Path, path: Path, parts: Parts | None) -> Trial:
    """Both files on held-out samples; on training samples, and without accuracies, where none are held out."""
    held_out = parts.held_out if parts else None
    inputs = (held_out or parts.train).inputs if parts else _random_inputs(format_, source)
    reference, candidate = format_.run(source, inputs), format_.run(path, inputs)
    classes = (
        held_out is not None and reference.ndim == 2 and held_out.classes is not None and held_out.classes <= reference.shape[-1]
    )
    source_bytes, bytes_ = format_.stored_bytes(source), format_.stored_bytes(path)
    return Trial(
        source_bytes=source_bytes,
        bytes=bytes_,
        size_ratio=check_smaller(str(source), source_bytes, bytes_),
        nodes=format_.nodes(path),
        check=compare(
            reference,
            candidate,
            runtime=format_.runtime,
            mode=format_.mode,
            tolerance=WITH_CLASSES if classes else WITHOUT_CLASSES,
            classes=classes,
        ),
        source_accuracy=accuracy(reference, held_out.targets) if held_out and classes else None,
        accuracy=accuracy(candidate, held_out.targets) if held_out and classes else None,
    )


def _random_inputs(format_: Format, source: Path) -> Array:
    """Values in 0..1 in the input's shape, for files whose data is not known."""
    shape = format_.shape(source)[1:]
    if None in shape:
        raise ExplorerError(f"the input of {source} has open dimensions beside the batch", "name its data with --data")
    return np.random.default_rng(0).random((RANDOM_SAMPLES, *(size or 1 for size in shape)), dtype=np.float32)


def _say_nodes(format_: Format, nodes: ComputeNodes, findings: Findings) -> None:
    total = len(nodes.int8) + len(nodes.floating)
    title = f"{len(nodes.int8)} of {total} {format_.counted}"
    if nodes.floating:
        findings.add("warning", title, "float: " + ", ".join(nodes.floating), "these cost as much as before")
    else:
        findings.add("info", title)


def _accept(source: Path, trial: Trial, spec: QuantizeSpec) -> None:
    if not trial.nodes.int8:
        raise ExplorerError(f"nothing in {source} became int8", "it has no layer that can be quantized; keep it as it is")
    check_accuracy(
        trial.source_accuracy,
        trial.accuracy,
        spec.max_accuracy_drop,
        "raise --calibration-samples, keep --per-channel, or allow more with --max-accuracy-drop",
    )
    if not trial.check.passed:
        reason = trial.check.first_difference or f"signal-to-noise {trial.check.snr_db:.1f} dB"
        raise ExplorerError(
            f"int8 outputs of {source} differ too much from its own ({reason}, wanted: {trial.check.tolerance})",
            "calibrate on data like the training data, and keep --per-channel",
        )
