"""Running ONNX files in ONNX Runtime on the CPU, quietly and with a set number of threads."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from explorer.errors import ExplorerError

Array = NDArray[Any]
ERRORS_ONLY = 3
FATAL_ONLY = 4


def session(path: Path | str, threads: int = 1, optimized_path: Path | str | None = None) -> onnxruntime.InferenceSession:
    """A CPU session with `threads` threads within an operator and one between operators.

    `optimized_path` receives the graph as the runtime rewrote it. Raises `ExplorerError` for a file that the runtime refuses.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    if optimized_path is not None:
        options.optimized_model_filepath = str(optimized_path)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExplorerError(
            f"ONNX Runtime cannot load {path} ({_reason(error)})", "check the file with `explorer inspect`"
        ) from error


def run_onnx(model: Path | str | onnxruntime.InferenceSession, inputs: Array, batch: int = 64) -> Array:
    """The first output for `inputs` (samples, ...), run `batch` at a time, or as many as a fixed batch dimension demands.

    A last piece that is short of a fixed batch is filled up with its last sample and cut back.
    """
    runner = session(model) if isinstance(model, str | Path) else model
    port, output = runner.get_inputs()[0], runner.get_outputs()[0].name
    fixed = port.shape[0] if port.shape and isinstance(port.shape[0], int) else None
    size = fixed or batch
    pieces = []
    for start in range(0, len(inputs), size):
        piece = inputs[start : start + size]
        kept = len(piece)
        if fixed and kept < fixed:
            piece = np.concatenate([piece, np.repeat(piece[-1:], fixed - kept, axis=0)])
        pieces.append(_run(runner, output, port.name, piece)[:kept])
    return np.concatenate(pieces)


def run_named(runner: onnxruntime.InferenceSession, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Every output by name for inputs by name, in one call."""
    names = [item.name for item in runner.get_outputs()]
    options = onnxruntime.RunOptions()
    options.log_severity_level = FATAL_ONLY  # a refusal is raised; its log would only repeat it on stderr
    try:
        values = runner.run(names, {name: _contiguous(value) for name, value in feed.items()}, options)
    except Exception as error:
        given = ", ".join(f"{name} {'x'.join(map(str, value.shape))} {value.dtype}" for name, value in feed.items())
        raise ExplorerError(f"the ONNX model refuses {given} ({_reason(error)})") from error
    return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}


def _run(runner: onnxruntime.InferenceSession, output: str, name: str, piece: Array) -> Array:
    try:
        values: list[Any] = runner.run([output], {name: np.ascontiguousarray(piece)})
    except Exception as error:
        shape = "x".join(str(size) for size in piece.shape)
        raise ExplorerError(f"the ONNX model refuses an input of {shape} {piece.dtype} ({_reason(error)})") from error
    return np.asarray(values[0])


def _contiguous(value: Array) -> Array:
    """numpy.ascontiguousarray gives a scalar an axis; this keeps its shape."""
    return np.ascontiguousarray(value).reshape(value.shape)


def _reason(error: Exception) -> str:
    """What the innermost node said."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error).strip()).rpartition("Status Message: ")[2]
    return text.splitlines()[0][:200] if text else type(error).__name__
