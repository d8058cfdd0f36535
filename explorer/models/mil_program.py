"""ML Programs as Core ML stores them: operations, their literals and nested blocks, walked on disk without coremltools.

Field numbers: https://github.com/apple/coremltools/blob/main/mlmodel/format/MIL.proto
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.coreml_file import ML_PROGRAM, MODEL_TYPES
from explorer.models.coreml_program import DEPTH_LIMIT, MIL_DTYPES
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.model_results import PortInfo

AGAIN = "fetch or save it again"
LITERAL_LIMIT_BYTES = 1 << 20
NUMBERS = {1: "f", 6: "d"}  # fields of a literal with fixed width
RAW = {"float16": "e", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "uint32": "I", "uint64": "Q", "bfloat16": "H"}


@dataclass(frozen=True)
class Value:
    """A literal: in the weight file at `file` and `offset`, or the flat `numbers` themselves (None when there are too many)."""

    dtype: str
    shape: tuple[int, ...]
    file: str = ""
    offset: int = 0
    numbers: list[Any] | None = None


@dataclass(frozen=True)
class Operation:
    """One operation; each input is a list of variables' names and literals."""

    type: str
    name: str
    inputs: dict[str, list[str | Value]]
    attributes: dict[str, Value]
    outputs: list[PortInfo]
    blocks: list["Block"] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """Operations in order, and the variables that come out."""

    operations: list[Operation]
    outputs: list[str]


def spec_file(path: Path) -> Path:
    """The specification itself: a bare file as it is, that of a package as its Manifest.json names it."""
    if not path.is_dir():
        return path
    try:
        manifest = json.loads((path / "Manifest.json").read_bytes())
        inner = str(manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"])
        file = path / "Data" / inner
        inside = file.resolve().is_relative_to(path.resolve())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ExplorerError(f"{path} has a damaged Manifest.json", AGAIN) from None
    if not inside:
        raise ExplorerError(f"{path} names a model outside itself", "do not load it")
    if not file.is_file():
        raise ExplorerError(f"{path} lacks {clean(inner)}, which its Manifest.json names", AGAIN)
    return file


def read_blocks(path: Path) -> list[Block]:
    """The main block of every function. Raises `ExplorerError` when the file is damaged or holds no ML Program."""
    file = spec_file(path)
    with file.open("rb") as stream:
        wire = Wire(stream, file.stat().st_size)
        try:
            program = wire.first(wire.whole, ML_PROGRAM)
            if program is None:
                kind = next((number for number, _, _ in wire.fields(wire.whole) if number >= 200), 0)
                name = MODEL_TYPES.get(kind, "model of another kind")
                raise ExplorerError(f"{path} is a Core ML {name}, not an ML Program", "convert its source to an ML Program")
            return [
                _block(wire, block, 0)
                for _, function in wire.map_items(program, 2)
                for _, block in wire.map_items(function, 3)
            ]  # fmt: skip
        except (WireError, struct.error) as error:
            raise ExplorerError(f"{path} is cut off or damaged ({error})", AGAIN) from None


def operations(blocks: list[Block]) -> Iterator[Operation]:
    """Every operation in the order of the file, an outer one before those nested in it."""
    for block in blocks:
        for operation in block.operations:
            yield operation
            yield from operations(operation.blocks)


def _block(wire: Wire, block: Span, depth: int) -> Block:
    if depth > DEPTH_LIMIT:
        raise WireError(f"blocks nested deeper than {DEPTH_LIMIT}")
    found = [_operation(wire, operation, depth) for operation in wire.spans(block, 3)]
    return Block(found, [clean(wire.text(span)) for span in wire.spans(block, 2)])


def _operation(wire: Wire, span: Span, depth: int) -> Operation:
    outputs = [_port(wire, output) for output in wire.spans(span, 3)]
    return Operation(
        type=clean(wire.text(wire.first(span, 1))),
        name=outputs[0].name if outputs else "",
        inputs={clean(key): [_binding(wire, item) for item in wire.spans(bound, 1)] for key, bound in wire.map_items(span, 2)},
        attributes={clean(key): _value(wire, value) for key, value in wire.map_items(span, 5)},
        outputs=outputs,
        blocks=[_block(wire, block, depth + 1) for block in wire.spans(span, 4)],
    )


def _binding(wire: Wire, span: Span) -> str | Value:
    value = wire.first(span, 2)
    return clean(wire.text(wire.first(span, 1))) if value is None else _value(wire, value)


def _port(wire: Wire, span: Span) -> PortInfo:
    """NamedValueType: name 1, type 2, which is a tensor 1 or a state 5 around one."""
    kind = wire.first(span, 2) or (0, 0)
    tensor = wire.first(kind, 1) or wire.first(kind, 5, 1, 1)
    name = clean(wire.text(wire.first(span, 1)))
    if tensor is None:
        return PortInfo(name=name, shape=[], dtype="list")
    return PortInfo(name=name, shape=_shape(wire, tensor), dtype=MIL_DTYPES.get(wire.integer(tensor, 1), "unknown"))


def _shape(wire: Wire, tensor: Span) -> list[int | str]:
    sizes: list[int | str] = []
    for dimension in wire.spans(tensor, 3):
        constant = wire.first(dimension, 1)
        sizes.append("?" if constant is None else wire.integer(constant, 1))
    return sizes


def _value(wire: Wire, span: Span) -> Value:
    """Value: type 2 > tensor 1, then the literal 3 or a place in a file 5 > name 1, offset 2."""
    tensor = wire.first(span, 2, 1)
    dtype = MIL_DTYPES.get(wire.integer(tensor, 1), "unknown") if tensor else "unknown"
    shape = tuple(size for size in _shape(wire, tensor) if isinstance(size, int)) if tensor else ()
    blob = wire.first(span, 5)
    if blob is not None:
        return Value(dtype, shape, wire.text(wire.first(blob, 1)), wire.uint64_field(blob, 2))
    literal = wire.first(span, 3, 1)
    return Value(dtype, shape, numbers=None if literal is None else _numbers(wire, literal, dtype))


def _numbers(wire: Wire, literal: Span, dtype: str) -> list[Any] | None:
    """TensorValue: floats 1, integers 2, booleans 3, texts 4, long integers 5, doubles 6, bytes 7; each has values in field 1."""
    number, values = next(((number, value) for number, _, value in wire.fields(literal) if isinstance(value, tuple)), (0, (0, 0)))
    if values[1] - values[0] > LITERAL_LIMIT_BYTES:
        return None
    if number == 4:
        return [wire.text(span) for span in wire.spans(values, 1)]
    if number in (2, 3, 5):
        integers = wire.integers(values, 1)
        return [bool(item) for item in integers] if number == 3 else integers
    content = b"".join(wire.bytes(span) for span in wire.spans(values, 1))
    layout = NUMBERS.get(number) or RAW.get(dtype, "B")
    return list(struct.unpack(f"<{len(content) // struct.calcsize(layout)}{layout}", content))
