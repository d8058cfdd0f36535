"""The two formats that can be quantized, seen alike: how to write, run, weigh and look into a file of each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.compression import coreml_int8, onnx_int8
from explorer.compression.int8_nodes import ComputeNodes, compute_nodes
from explorer.conversion.proof import ONNX_RUNTIME, REFERENCE
from explorer.errors import ExplorerError
from explorer.files import size_bytes
from explorer.inference.coreml.evaluate import evaluate_samples
from explorer.inference.coreml.program import load_program
from explorer.inference.onnx_runtime import run_onnx, session
from explorer.inference.onnx_size import onnx_bytes

Array = NDArray[Any]


@dataclass(frozen=True)
class Format:
    """What quantization needs of a file format; `shape` is of one call's input, None for an open dimension."""

    method: Literal["static_int8", "weights_int8"]
    target: Literal["onnx", "coreml"]
    ending: str
    runtime: str
    mode: str
    calibrated: bool
    quantize: Callable[[Path, Path, Array | None, bool], None]
    run: Callable[[Path, Array], Array]
    nodes: Callable[[Path], ComputeNodes]
    stored_bytes: Callable[[Path], int]
    shape: Callable[[Path], list[int | None]]
    counted: str


def format_of(path: Path, method: str) -> Format:
    """The format of a file by its ending; raises `ExplorerError` for others and for a method that does not go with it."""
    found = next((format_ for format_ in FORMATS if path.suffix == format_.ending), None)
    if found is None:
        raise ExplorerError(
            f"{path} is neither an .onnx file nor an .mlpackage", "convert the model first with `explorer convert`"
        )
    if method not in ("auto", found.method):
        raise ExplorerError(f"{method} does not apply to {path}", f"use --method {found.method} or auto")
    return found


def _quantize_onnx(source: Path, target: Path, samples: Array | None, per_channel: bool) -> None:
    if samples is None:
        raise ExplorerError(f"no data is known to calibrate {source} on", "name the data it was trained on with --data")
    onnx_int8.quantize(source, target, samples, per_channel)


def _onnx_shape(path: Path) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in session(path).get_inputs()[0].shape]


def _quantize_coreml(source: Path, target: Path, _samples: Array | None, per_channel: bool) -> None:
    coreml_int8.quantize(source, target, per_channel)


def _run_coreml(path: Path, inputs: Array) -> Array:
    return np.asarray(evaluate_samples(path, inputs, "float32").output)


def _coreml_weights(path: Path) -> ComputeNodes:
    return coreml_int8.stored_weights(load_program(path))


def _coreml_shape(path: Path) -> list[int | None]:
    return list(next(iter(load_program(path).inputs.values())).shape)


ONNX = Format(
    method="static_int8",
    target="onnx",
    ending=".onnx",
    runtime=ONNX_RUNTIME,
    mode="int8",
    calibrated=True,
    quantize=_quantize_onnx,
    run=run_onnx,
    nodes=compute_nodes,
    stored_bytes=onnx_bytes,
    shape=_onnx_shape,
    counted="compute nodes run in int8",
)
COREML = Format(
    method="weights_int8",
    target="coreml",
    ending=".mlpackage",
    runtime=REFERENCE,
    mode="float32",
    calibrated=False,
    quantize=_quantize_coreml,
    run=_run_coreml,
    nodes=_coreml_weights,
    stored_bytes=size_bytes,
    shape=_coreml_shape,
    counted="weight tensors are stored in int8",
)
FORMATS = (ONNX, COREML)
