"""Core ML packages and specifications, walked on disk.

Field numbers: the .proto files at https://github.com/apple/coremltools/tree/main/mlmodel/format
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.files import size_bytes
from explorer.models.dtypes import bytes_of, elements_of, is_weight
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.results import InspectResult, PortInfo, TensorInfo

AGAIN = "fetch or save it again"
ML_PROGRAM = 502
MODEL_TYPES = {ML_PROGRAM: "ML Program", 202: "pipeline", 303: "neural network", 403: "neural network", 500: "neural network"}
MIL_DTYPES = {
    1: "bool", 2: "string", 10: "float16", 11: "float32", 12: "float64", 13: "bfloat16", 21: "int8", 22: "int16", 23: "int32",
    24: "int64", 25: "int4", 31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64", 35: "uint4", 36: "uint2",
    37: "uint1", 38: "uint6", 39: "uint3", 40: "float8_e4m3fn", 41: "float8_e5m2",
}  # fmt: skip
ARRAY_DTYPES = {65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}
PORT_KINDS = {1: "int64", 2: "float64", 3: "string", 4: "image", 6: "dictionary", 7: "sequence", 8: "state"}
DEPTH_LIMIT = 32


def describe(path: Path) -> InspectResult:
    """An .mlpackage folder: inputs, outputs, operators, and the weights that lie in its weight file."""
    return _describe_spec(path, _spec_file(path))


def describe_spec(path: Path) -> InspectResult:
    """A bare .mlmodel file."""
    return _describe_spec(path, path)


def _spec_file(package: Path) -> Path:
    """The root model that Manifest.json names."""
    try:
        manifest = json.loads((package / "Manifest.json").read_bytes())
        item = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]
        inner = str(item["path"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ExplorerError(f"{package} has a damaged Manifest.json", AGAIN) from None
    file = package / "Data" / inner
    if not file.resolve().is_relative_to(package.resolve()):
        raise ExplorerError(f"{package} names a model outside itself", "do not load it")
    if not file.is_file():
        raise ExplorerError(f"{package} lacks {inner}, which its Manifest.json names", AGAIN)
    return file


def _describe_spec(path: Path, file: Path) -> InspectResult:
    with file.open("rb") as stream:
        wire = Wire(stream, file.stat().st_size)
        try:
            return _result(path, wire)
        except WireError as error:
            raise ExplorerError(f"{path} is cut off or damaged ({error})", AGAIN) from None


def _result(path: Path, wire: Wire) -> InspectResult:
    numbers = [number for number, _, _ in wire.fields(wire.whole)]
    kind = next((number for number in numbers if number >= 200), 0)
    tensors: list[TensorInfo] = []
    operators: dict[str, int] = {}
    program = wire.first(wire.whole, ML_PROGRAM)
    if program is not None:
        for block in _blocks(wire, program):
            _walk(wire, block, tensors, operators, 0)
    description = wire.first(wire.whole, 2) or (0, 0)
    return InspectResult(
        source=str(path),
        format="mlpackage" if path.is_dir() else "coreml_spec",
        format_name=f"Core ML {MODEL_TYPES.get(kind, 'model')}",
        runs_code_on_load=False,
        safety="a program of Core ML operations; it is compiled, not executed, when loaded",
        tensors=tensors,
        parameters=sum(elements_of(tensor.shape) for tensor in tensors if is_weight(tensor.dtype)),
        bytes=size_bytes(path),
        inputs=[_port(wire, span) for span in wire.spans(description, 1)],
        outputs=[_port(wire, span) for span in wire.spans(description, 10)],
        metadata=_metadata(wire, description, operators),
    )


def _metadata(wire: Wire, description: Span, operators: dict[str, int]) -> dict[str, Any]:
    facts: dict[str, Any] = {"specification_version": wire.integer(wire.whole, 1), "operators": operators}
    metadata = wire.first(description, 100)
    if metadata is not None:
        names = {1: "description", 2: "version", 3: "author", 4: "license"}
        texts = {name: wire.text(wire.first(metadata, number))[:1000] for number, name in names.items()}
        facts.update({name: text for name, text in texts.items() if text})
        facts.update({key: wire.text(value)[:1000] for key, value in wire.map_items(metadata, 100)})
    return facts


def _blocks(wire: Wire, program: Span) -> Iterator[Span]:
    for _, function in wire.map_items(program, 2):
        for _, block in wire.map_items(function, 3):
            yield block


def _walk(wire: Wire, block: Span, tensors: list[TensorInfo], operators: dict[str, int], depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise WireError(f"blocks nested deeper than {DEPTH_LIMIT}")
    for operation in wire.spans(block, 3):
        name = wire.text(wire.first(operation, 1))
        operators[name] = operators.get(name, 0) + 1
        tensors.extend(_stored(wire, operation, name))
        for nested in wire.spans(operation, 4):
            _walk(wire, nested, tensors, operators, depth + 1)


def _stored(wire: Wire, operation: Span, name: str) -> Iterator[TensorInfo]:
    """Values in the weight file: `val` of a const, or the parts of a compressed weight, among attributes or bound inputs."""
    label = wire.text(wire.first(operation, 3, 1))
    for key, value in wire.map_items(operation, 5):
        yield from _blob(wire, value, label if name == "const" else f"{label}.{key}")
    for key, argument in wire.map_items(operation, 2):
        for binding in wire.spans(argument, 1):
            yield from _blob(wire, wire.first(binding, 2), f"{label}.{key}")


def _blob(wire: Wire, value: Span | None, name: str) -> Iterator[TensorInfo]:
    tensor = wire.first(value, 2, 1) if value else None
    if value is None or tensor is None or wire.first(value, 5) is None:
        return
    shape = [wire.integer(constant, 1) for dimension in wire.spans(tensor, 3) if (constant := wire.first(dimension, 1))]
    dtype = MIL_DTYPES.get(wire.integer(tensor, 1), "unknown")
    yield TensorInfo(name=name, shape=shape, dtype=dtype, bytes=bytes_of(dtype, elements_of(shape)))


def _port(wire: Wire, feature: Span) -> PortInfo:
    """FeatureDescription: name 1, type 3 > array 5 > shape 1, element type 2; or image 4 > width 1, height 2."""
    name = wire.text(wire.first(feature, 1))
    array = wire.first(feature, 3, 5) or wire.first(feature, 3, 8, 1)
    if array is not None:
        return PortInfo(name=name, shape=list(wire.integers(array, 1)), dtype=ARRAY_DTYPES.get(wire.integer(array, 2), "unknown"))
    kind = wire.first(feature, 3) or (0, 0)
    number = next((number for number, _, _ in wire.fields(kind) if number in PORT_KINDS), 0)
    image = wire.first(kind, 4)
    shape: list[int | str] = [wire.integer(image, 2), wire.integer(image, 1)] if image else []
    return PortInfo(name=name, shape=shape, dtype=PORT_KINDS.get(number, "unknown"))
