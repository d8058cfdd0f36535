"""An ONNX file without the numbers of its weights: small enough to give to onnx, however big the file is.

Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from pathlib import Path
from typing import Literal

from explorer.errors import ExplorerError
from explorer.models.onnx_graph import DEPTH_LIMIT
from explorer.models.wire import LENGTH, TEXT_LIMIT_BYTES, Span, Wire, WireError

KEPT_BYTES = 1024  # of one field of numbers: shapes and axes, which inference reads
Kind = Literal["model", "graph", "node", "attribute", "tensor", "sparse", "function"]

# Which fields of a message are messages of their own that may hold weights.
INNER: dict[Kind, dict[int, Kind]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
NUMBERS = (4, 5, 6, 7, 9, 10, 11)  # fields of TensorProto


def skeleton(path: Path) -> bytes:
    """The file's ModelProto, without any field of numbers longer than a kibibyte. Raises `ExplorerError` when it is damaged."""
    try:
        with path.open("rb") as stream:
            wire = Wire(stream, path.stat().st_size)
            return _message(wire, wire.whole, "model", 0)
    except WireError as error:
        raise ExplorerError(f"{path} is cut off or damaged ({error})", "fetch or save it again") from None


def _message(wire: Wire, span: Span, kind: Kind, depth: int) -> bytes:
    if depth > 4 * DEPTH_LIMIT:
        raise WireError(f"graphs nested deeper than {DEPTH_LIMIT}")
    pieces = []
    for number, width, value in wire.fields(span):
        key = _varint(number << 3 | width)
        if isinstance(value, int):
            pieces.append(key + _varint(value))
            continue
        size = value[1] - value[0]
        if number in INNER[kind]:
            content = _message(wire, value, INNER[kind][number], depth + 1)
        elif size > (KEPT_BYTES if kind == "tensor" and number in NUMBERS else TEXT_LIMIT_BYTES):
            continue
        else:
            content = wire.bytes(value)
        pieces.append(key + (_varint(len(content)) if width == LENGTH else b"") + content)
    return b"".join(pieces)


def _varint(value: int) -> bytes:
    pieces = bytearray()
    while value >= 0x80:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)
