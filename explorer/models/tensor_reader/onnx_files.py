"""Values of ONNX initializers and Constant nodes: inline, in typed fields, or in files beside the model.

Field numbers and the packing of typed fields: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.dtypes import BITS, elements_of
from explorer.models.onnx_external import leaves_folder
from explorer.models.onnx_graph import DEPTH_LIMIT, DTYPES
from explorer.models.tensor_reader.decoding import Array, decoded, is_decodable
from explorer.models.tensor_reader.places import AGAIN, Extent
from explorer.models.tensor_reader.stored import StoredTensor, unreadable
from explorer.models.wire import Span, Wire, WireError

GRAPH, NODE, INITIALIZER, SPARSE, FUNCTION = 7, 1, 5, 15, 25
FLOATS, INTS, LONGS, RAW, DOUBLES, UNSIGNED = 4, 5, 7, 9, 10, 11  # fields that hold numbers
FIXED = (FLOATS, DOUBLES, RAW)


@dataclass
class _Tensor:
    """A TensorProto's fields; `spans` are the stretches of the file that hold its numbers, by field."""

    name: str = ""
    dims: list[int] = field(default_factory=list)
    dtype: str = "undefined"
    external: dict[str, str] = field(default_factory=dict)
    spans: dict[int, list[Span]] = field(default_factory=dict)
    loose: list[int] = field(default_factory=list)


def read(path: Path) -> list[StoredTensor]:
    """Weights of the main graph, of those nested in it and of functions, in the order of the file."""
    try:
        with path.open("rb") as stream:
            wire = Wire(stream, path.stat().st_size)
            graphs = [tensor for graph in wire.spans(wire.whole, GRAPH) for tensor in _graph(path, wire, graph, 0)]
            nodes = [node for function in wire.spans(wire.whole, FUNCTION) for node in wire.spans(function, 7)]
            return [*graphs, *(tensor for node in nodes for tensor in _node(path, wire, node, 0))]
    except WireError as error:
        raise ExplorerError(f"{path} is cut off or damaged ({error})", AGAIN) from None


def _graph(path: Path, wire: Wire, graph: Span, depth: int) -> Iterator[StoredTensor]:
    if depth > DEPTH_LIMIT:
        raise WireError(f"graphs nested deeper than {DEPTH_LIMIT}")
    for number, _, value in wire.fields(graph):
        if not isinstance(value, tuple):
            continue
        if number == NODE:
            yield from _node(path, wire, value, depth)
        elif number == INITIALIZER:
            yield _stored(path, _tensor(wire, value), "")
        elif number == SPARSE:
            yield _stored(path, _tensor(wire, wire.first(value, 1) or (0, 0)), "")


def _node(path: Path, wire: Wire, node: Span, depth: int) -> Iterator[StoredTensor]:
    parts: dict[int, list[Span]] = {}
    for number, _, value in wire.fields(node):
        if isinstance(value, tuple):
            parts.setdefault(number, []).append(value)
    constant = wire.text(parts[4][0]) == "Constant" if 4 in parts else False
    output = wire.text(parts[2][0]) if constant and 2 in parts else ""
    for attribute in parts.get(5, []):
        for number, _, value in wire.fields(attribute):
            if isinstance(value, tuple) and number == 5 and output:
                yield _stored(path, _tensor(wire, value), output)
            elif isinstance(value, tuple) and number == 22 and output:
                yield _stored(path, _tensor(wire, wire.first(value, 1) or (0, 0)), output)
            elif isinstance(value, tuple) and number in (6, 11):
                yield from _graph(path, wire, value, depth + 1)


def _tensor(wire: Wire, tensor: Span) -> _Tensor:
    found = _Tensor()
    for number, _, value in wire.fields(tensor):
        if number == 1:
            found.dims.extend([value] if isinstance(value, int) else wire.packed(value))
        elif number == 2 and isinstance(value, int):
            found.dtype = DTYPES[value] if value < len(DTYPES) else f"type {value}"
        elif number == 8 and isinstance(value, tuple):
            found.name = wire.text(value)
        elif number == 13 and isinstance(value, tuple):
            found.external[wire.text(wire.first(value, 1))] = wire.text(wire.first(value, 2))
        elif number in (*FIXED, INTS, LONGS, UNSIGNED):
            if isinstance(value, tuple):
                found.spans.setdefault(number, []).append(value)
            else:
                found.loose.append(value)
    return found


def _stored(path: Path, tensor: _Tensor, name: str) -> StoredTensor:
    shape = tuple(tensor.dims)
    if any(size < 0 or size >= 1 << 62 for size in shape):
        raise WireError(f"tensor {clean(tensor.name, 100)} has a wrong size")
    label = clean(name or tensor.name)
    if "location" in tensor.external:
        return _external(path, label, shape, tensor)
    spans = [(number, span) for number, found in tensor.spans.items() for span in found]
    if len(spans) == 1 and spans[0][0] in FIXED and not tensor.loose:
        start, end = spans[0][1]
        return StoredTensor(label, shape, tensor.dtype, Extent(path, start, end - start))
    if not is_decodable(tensor.dtype):
        return StoredTensor(label, shape, tensor.dtype)
    return StoredTensor(label, shape, tensor.dtype, make=partial(_typed, path, label, shape, tensor.dtype, spans, tensor.loose))


def _external(path: Path, name: str, shape: tuple[int, ...], tensor: _Tensor) -> StoredTensor:
    """A tensor in another file, which must lie in the model's folder."""
    location = tensor.external["location"]
    file = path.absolute().parent / location
    try:
        if leaves_folder(path, location):
            shown = clean(location, 200)
            return unreadable(name, shape, tensor.dtype, f"{name} lies outside the model's folder: {shown}", "do not load it")
        size = file.stat().st_size
        start = int(tensor.external.get("offset") or 0)
        length = int(tensor.external.get("length") or max(0, size - start))
    except (OSError, ValueError) as error:
        message = f"{name} lies in {clean(location, 200)}, which cannot be read ({type(error).__name__})"
        return unreadable(name, shape, tensor.dtype, message, f"put it beside {path.name}")
    if min(start, length) < 0 or start + length > size:
        end = f"bytes {start} to {start + length} of {clean(location, 200)}, which holds {size}"
        return unreadable(name, shape, tensor.dtype, f"{name} claims {end}", AGAIN)
    return StoredTensor(name, shape, tensor.dtype, Extent(file, start, length))


def _typed(path: Path, name: str, shape: tuple[int, ...], dtype: str, spans: list[tuple[int, Span]], loose: list[int]) -> Array:
    """Numbers in typed fields: those of fixed width as they are, others as varints."""
    try:
        with path.open("rb") as stream:
            pieces = [_content(stream, number, span, dtype) for number, span in spans]
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", AGAIN) from None
    content = b"".join(pieces) + _narrowed(np.array(loose, np.uint64), dtype)
    count = elements_of(shape)
    if count * BITS.get(dtype, 0) > 8 * len(content):
        raise ExplorerError(f"{name} claims {count} elements of a field that holds {len(content)} bytes", AGAIN)
    return decoded(content, dtype, count).reshape(shape)


def _content(stream: BinaryIO, number: int, span: Span, dtype: str) -> bytes:
    stream.seek(span[0])
    content = stream.read(span[1] - span[0])
    return content if number in FIXED else _narrowed(_varints(content), dtype)


def _narrowed(values: Array, dtype: str) -> bytes:
    """Codes in the width of their type; below eight bits a byte holds several."""
    return values.astype(f"<u{max(1, BITS.get(dtype, 8) // 8)}").tobytes()


def _varints(content: bytes) -> Array:
    """Packed base-128 numbers as unsigned 64 bit: https://protobuf.dev/programming-guides/encoding/#varints"""
    codes = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(codes < 0x80)
    if not len(ends) or ends[-1] != len(codes) - 1:
        raise ValueError("a number is cut off")
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > 10:
        raise ValueError("an endless number")
    places = np.arange(len(codes)) - np.repeat(starts, lengths)
    return np.add.reduceat((codes & 0x7F).astype(np.uint64) << (7 * places).astype(np.uint64), starts)
