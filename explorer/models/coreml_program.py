"""The operations of a Core ML ML Program, and its weights, which lie in a file beside the program.

Field numbers: https://github.com/apple/coremltools/blob/main/mlmodel/format/MIL.proto
"""

from collections.abc import Iterator
from pathlib import Path

from explorer.models.bounds import TENSOR_LIMIT, clean
from explorer.models.dtypes import bytes_of, elements_of
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.model_results import ExternalFile, TensorInfo

MIL_DTYPES = {
    1: "bool", 2: "string", 10: "float16", 11: "float32", 12: "float64", 13: "bfloat16", 21: "int8", 22: "int16", 23: "int32",
    24: "int64", 25: "int4", 31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64", 35: "uint4", 36: "uint2",
    37: "uint1", 38: "uint6", 39: "uint3", 40: "float8_e4m3fn", 41: "float8_e5m2",
}  # fmt: skip
DEPTH_LIMIT = 32
OPERATOR_LIMIT = 10_000
FILE_LIMIT = 100
SIZE_LIMIT = 1 << 62
MODEL_FOLDER = "@model_path/"


class Program:
    """What the walk has found: tensors in order, operators by name, and the first tensor at each place of a weight file."""

    def __init__(self) -> None:
        self.tensors: list[TensorInfo] = []
        self.operators: dict[str, int] = {}
        self.places: dict[tuple[str, int], str] = {}
        self.files: dict[str, None] = {}


def walk_program(wire: Wire, program: Span, found: Program) -> None:
    """Program: functions 2, each with blocks 3."""
    for _, function in wire.map_items(program, 2):
        for _, block in wire.map_items(function, 3):
            _walk(wire, block, found, 0)


def weight_files(path: Path, spec: Path, program: Program) -> list[ExternalFile]:
    """The weight files with their bytes, by their names below the model; None for one that is missing or lies outside it."""
    files = []
    for name in program.files:
        target = spec.parent / name.removeprefix(MODEL_FOLDER)
        try:
            inside = target.resolve().is_relative_to(path.resolve() if path.is_dir() else spec.parent.resolve())
            size = target.stat().st_size if inside and target.is_file() else None
        except (OSError, ValueError):
            size = None
        files.append(ExternalFile(name=name.removeprefix(MODEL_FOLDER), bytes=size))
    return files


def _walk(wire: Wire, block: Span, found: Program, depth: int) -> None:
    """Block: operations 3, each with type 1, inputs 2, outputs 3, blocks 4, attributes 5."""
    if depth > DEPTH_LIMIT:
        raise WireError(f"blocks nested deeper than {DEPTH_LIMIT}")
    for operation in wire.spans(block, 3):
        name = clean(wire.text(wire.first(operation, 1)), 200)
        if name not in found.operators and len(found.operators) >= OPERATOR_LIMIT:
            raise WireError(f"more than {OPERATOR_LIMIT} kinds of operators")
        found.operators[name] = found.operators.get(name, 0) + 1
        for tensor in _stored(wire, operation, name, found):
            found.tensors.append(tensor)
        if len(found.tensors) > TENSOR_LIMIT:
            raise WireError(f"more than {TENSOR_LIMIT} tensors")
        for nested in wire.spans(operation, 4):
            _walk(wire, nested, found, depth + 1)


def _stored(wire: Wire, operation: Span, name: str, found: Program) -> Iterator[TensorInfo]:
    """Values in the weight file: `val` of a const, or the parts of a compressed weight, among attributes or bound inputs."""
    label = clean(wire.text(wire.first(operation, 3, 1)))
    for key, value in wire.map_items(operation, 5):
        yield from _blob(wire, value, label if name == "const" else clean(f"{label}.{key}"), found)
    for key, argument in wire.map_items(operation, 2):
        for binding in wire.spans(argument, 1):
            yield from _blob(wire, wire.first(binding, 2), clean(f"{label}.{key}"), found)


def _blob(wire: Wire, value: Span | None, name: str, found: Program) -> Iterator[TensorInfo]:
    """Value: type 2 > tensor 1 > element type 1, dimensions 3; place in a weight file 5 > file 1, offset 2."""
    tensor = wire.first(value, 2, 1) if value else None
    place = wire.first(value, 5) if value else None
    if tensor is None or place is None:
        return
    shape = [wire.integer(constant, 1) for dimension in wire.spans(tensor, 3) if (constant := wire.first(dimension, 1))]
    if any(not 0 <= size < SIZE_LIMIT for size in shape) or len(shape) > 64:
        raise WireError(f"tensor {name[:100]} has a wrong shape")
    dtype = MIL_DTYPES.get(wire.integer(tensor, 1), "unknown")
    file = clean(wire.text(wire.first(place, 1)))
    if len(found.files) < FILE_LIMIT:
        found.files[file] = None
    first = found.places.setdefault((file, wire.uint64_field(place, 2)), name)
    size = bytes_of(dtype, elements_of(shape))
    yield TensorInfo(name=name, shape=shape, dtype=dtype, bytes=size, shares="" if first == name else first)
