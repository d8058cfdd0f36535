"""Static eight-bit quantization of ONNX files: ranges from calibration samples, quantize-dequantize pairs around operators.

Activations are unsigned and weights signed: with both signed, ONNX Runtime leaves residual networks mostly in float on x86.
"""

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from explorer.errors import ExplorerError
from explorer.inference.onnx_runtime import session

Inputs = NDArray[np.float32]

CALIBRATION_BATCH = 32


class Batches(CalibrationDataReader):  # type: ignore[misc] # onnxruntime ships no types
    """Hands `inputs` (samples, ...) to the calibrator, `size` at a time; a last piece shorter than a fixed `size` is dropped."""

    def __init__(self, name: str, inputs: Inputs, size: int, fixed: bool) -> None:
        whole = len(inputs) - len(inputs) % size if fixed else len(inputs)
        self._pieces = iter([{name: inputs[start : start + size]} for start in range(0, whole, size)])

    def get_next(self) -> dict[str, Inputs] | None:
        return next(self._pieces, None)


def quantize(source: Path, target: Path, samples: Inputs, per_channel: bool = True) -> None:
    """Write the int8 twin of the float ONNX file `source` to `target`, calibrated (smallest and largest value) on `samples`.

    Raises `ExplorerError` when the file is quantized already, takes other inputs than `samples`, or cannot be prepared.
    """
    reader = _reader(source, samples)
    _refuse_quantized(source)
    with tempfile.TemporaryDirectory() as folder, _quiet():
        prepared = _prepare(source, Path(folder) / "prepared.onnx")
        quantized = Path(folder) / "int8.onnx"
        quantize_static(
            prepared,
            quantized,
            reader,
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=per_channel,
            calibrate_method=CalibrationMethod.MinMax,
        )
        model = onnx.load(quantized)
    _strip(model)
    onnx.save(model, target)


def _refuse_quantized(source: Path) -> None:
    operators = {node.op_type for node in onnx.load(source, load_external_data=False).graph.node}
    found = sorted(operators & {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"})
    if found:
        raise ExplorerError(f"{source} is quantized already ({found[0]} is in it)", "give the float file that it was made from")


def _reader(source: Path, samples: Inputs) -> Batches:
    ports = session(source).get_inputs()
    if len(ports) != 1:
        raise ExplorerError(f"{source} has {len(ports)} inputs", "calibration data sets hold one input a sample")
    port = ports[0]
    if port.type != "tensor(float)" or not _fits(port.shape, samples):
        raise ExplorerError(
            f"{source} takes {port.type} of {port.shape}, the samples are float of {list(samples.shape[1:])}",
            "choose the data that the model was trained on with --data",
        )
    fixed = isinstance(port.shape[0], int)
    size = port.shape[0] if fixed else CALIBRATION_BATCH
    if fixed and len(samples) < size:
        raise ExplorerError(f"{source} takes {size} samples at a time, {len(samples)} are given", "raise --calibration-samples")
    return Batches(port.name, samples, size, fixed)


def _fits(shape: list[int | str | None], samples: Inputs) -> bool:
    """Whether samples can be fed: as many dimensions, and the same size wherever the file names a number."""
    pairs = zip(shape[1:], samples.shape[1:], strict=False)
    return len(shape) == samples.ndim and all(size == have for size, have in pairs if isinstance(size, int))


def _prepare(source: Path, target: Path) -> Path:
    """Shapes inferred and constants folded, so that the quantizer sees every operator.

    Symbolic shape inference knows few operators and is left out where it fails.
    """
    try:
        quant_pre_process(source, target)
    except Exception:
        try:
            quant_pre_process(source, target, skip_symbolic_shape=True)
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise ExplorerError(f"{source} cannot be prepared for quantization ({reason})", "export it with opset 18") from error
    return target


def _strip(model: onnx.ModelProto) -> None:
    """Drop what no runtime reads: notes that exporters leave on each node, and operator sets that no node uses."""
    used = {node.domain for node in model.graph.node} | {""}
    kept = [opset for opset in model.opset_import if opset.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(kept)
    for item in [*model.graph.node, *model.graph.initializer, *model.graph.value_info, *model.graph.input, *model.graph.output]:
        item.ClearField("doc_string")
        item.ClearField("metadata_props")


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantizer's advice out of the log: it warns through the root logger on every call."""
    root: Any = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
