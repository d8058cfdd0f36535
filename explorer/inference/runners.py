"""Opens what a source names in the runtime that it is for: torch, ONNX Runtime, or the Core ML reference evaluator."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import Program, load_program
from explorer.inference.onnx_runtime import run_named, session
from explorer.inference.ports import Array, OpenShape, Port, Runner, Shape
from explorer.inference.torch_runners import exported_program, pickled_module, torch_module, torchscript
from explorer.models.content import recognise
from explorer.models.job_files import PREFIX, model_record, resolve_file
from explorer.models.source_text import parse_source
from explorer.models.sources import resolve

JOB_FILES = ("model.safetensors", "model.onnx", "model.mlpackage")
NUMPY_TYPES = {
    "float": "float32", "float16": "float16", "double": "float64", "bool": "bool", "int8": "int8", "uint8": "uint8",
    "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64",
}  # fmt: skip


def open_runner(source: str, trust: Sequence[str], shapes: Mapping[str, Shape]) -> Runner:
    """The model ready to run on the CPU. `shapes` helps a torch factory that gives no example.

    Raises `ExplorerError` for files of weights, and for those that run their own code unless `trust` names their hash.
    """
    path = _file(source)
    if path is None or (path.name == "model.safetensors" and model_record(path) is not None):
        return torch_module(resolve(source if path is None or source.startswith(PREFIX) else _record_source(path)), shapes)
    kind = recognise(path)
    if kind == "onnx":
        return onnx_file(source, path)
    if kind == "mlpackage":
        return coreml_package(source, path)
    loader = TRUSTED.get(kind)
    if loader is None:
        raise ExplorerError(
            f"{source} holds nothing that can be run here",
            "give an .onnx, .mlpackage, .pt2 or TorchScript file, or file.py:factory; `explorer diff` compares weights",
        )
    return loader(source, path, trust, shapes)


Trusted = Callable[[str, Path, Sequence[str], Mapping[str, Shape]], Runner]
TRUSTED: dict[str, Trusted] = {
    "torchscript": torchscript,
    "exported_program": exported_program,
    "torch_zip": pickled_module,
    "torch_legacy": pickled_module,
}


def _file(source: str) -> Path | None:
    """The file that a source names, None when it is code."""
    if source.startswith(PREFIX):
        return resolve_file(source, JOB_FILES)
    if not os.path.exists(Path(source).expanduser()) and parse_source(source) is not None:
        return None
    path = resolve_file(source, ())
    return None if path.suffix == ".py" else path


def _record_source(path: Path) -> str:
    """A job's weights named by their path stand for the job."""
    return f"{PREFIX}{path.parent.parent.name}"


def onnx_file(source: str, path: Path) -> Runner:
    """An ONNX file in ONNX Runtime, with one thread."""
    runner = session(path)
    ports = [Port(item.name, _onnx_dtype(source, item.name, item.type), _open(item.shape)) for item in runner.get_inputs()]
    outputs: dict[str, OpenShape | None] = {item.name: _open(item.shape) for item in runner.get_outputs()}

    def call(feed: Mapping[str, Array]) -> dict[str, Array]:
        return run_named(runner, feed)

    return Runner(source, "ONNX Runtime", ports, call, outputs)


def _onnx_dtype(source: str, name: str, text: str) -> str:
    inner = text.removeprefix("tensor(").removesuffix(")")
    if inner not in NUMPY_TYPES:
        raise ExplorerError(
            f"input {name} of {source} is a {text}, which explorer cannot fill", "cut that input out of the model"
        )
    return NUMPY_TYPES[inner]


def _open(shape: Sequence[object]) -> OpenShape:
    return tuple(size if isinstance(size, int) and size > 0 else size if isinstance(size, str) else None for size in shape)


def coreml_package(source: str, path: Path) -> Runner:
    """An ML Program in the reference evaluator, every operation in float32."""
    program: Program = load_program(path)
    ports = [Port(port.name, "int32" if port.integer else "float32", port.shape) for port in program.inputs.values()]

    def call(feed: Mapping[str, Array]) -> dict[str, Array]:
        return {name: np.asarray(value) for name, value in evaluate(program, feed, "float32").outputs.items()}

    return Runner(source, "Core ML reference evaluator, float32", ports, call, dict.fromkeys(program.outputs))
