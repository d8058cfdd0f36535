"""One `Event` message of TensorBoard, read by hand: where its wall time, its step and its scalars lie.

Fields are those of tensorboard/compat/proto. Event: wall_time = 1 (double), step = 2 (int64), summary = 5, session_log = 7
(status = 1, START = 1). Summary: value = 1. Value: tag = 1, simple_value = 2 (float), tensor = 8, metadata = 9 (plugin_data = 1,
plugin_name = 1). TensorProto: dtype = 1, tensor_content = 4, and packed float_val = 5, double_val = 6, int_val = 7,
int64_val = 10, bool_val = 11, half_val = 13.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

Span = tuple[int, int]

# DataType in tensorflow/core/framework/types.proto: the numpy type of one element in tensor_content.
_ELEMENTS = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "u1", 14: "bfloat16", 19: "<f2"}
_PACKED = {5: "<f4", 6: "<f8", 7: "varint", 10: "varint", 11: "varint", 13: "varint"}
_BYTES = {"<f4": 4, "<f8": 8, "<i4": 4, "<i8": 8, "u1": 1, "i1": 1, "<i2": 2, "<f2": 2, "bfloat16": 2}
_SCALAR_PLUGINS = (b"", b"scalars")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number in a message: its element type (numpy's, `bfloat16`, or `varint` with the tensor's data type) and its bytes."""

    tag: str
    element: str
    span: Span
    data_type: int = 0


@dataclass(slots=True)
class Layout:
    """Where the changing bytes of a message are. Absent spans are None: proto3 leaves zeros out."""

    wall_time: Span | None = None
    step: Span | None = None
    scalars: list[Scalar] = field(default_factory=list)
    starts_session: bool = False


def layout_of(data: bytes, start: int, end: int) -> Layout:
    """The layout of the message in `data[start:end]`; raises `ValueError` when it is none."""
    found = Layout()
    for number, wire, first, last in _fields(data, start, end):
        if number == 1 and wire == 1:
            found.wall_time = (first, last)
        elif number == 2 and wire == 0:
            found.step = (first, last)
        elif number == 5 and wire == 2:
            found.scalars += _scalars(data, first, last)
        elif number == 7 and wire == 2:
            found.starts_session = (1, 1) in [(n, data[a]) for n, w, a, _ in _fields(data, first, last) if w == 0]
    return found


def varint(data: bytes, start: int, end: int) -> int:
    """A base-128 number as int64."""
    value = 0
    for index in range(end - 1, start - 1, -1):
        value = (value << 7) | (data[index] & 0x7F)
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def number_at(data: bytes, scalar: Scalar, start: int) -> float:
    """The value of a scalar whose message begins at `start`; numpy is not needed for one."""
    first, last = start + scalar.span[0], start + scalar.span[1]
    if scalar.element == "bfloat16":
        return float(struct.unpack("<f", b"\0\0" + data[first:last])[0])
    if scalar.element == "varint":
        return _packed_number(varint(data, first, last), scalar.data_type)
    codes = {"<f4": "<f", "<f8": "<d", "<f2": "<e", "<i4": "<i", "<i8": "<q", "<i2": "<h", "u1": "<B", "i1": "<b"}
    return float(struct.unpack(codes[scalar.element], data[first:last])[0])


def _packed_number(value: int, data_type: int) -> float:
    """half_val holds the 16 bits of a half or a bfloat16; the others hold integers."""
    if data_type == 19:
        return float(struct.unpack("<e", (value & 0xFFFF).to_bytes(2, "little"))[0])
    if data_type == 14:
        return float(struct.unpack("<f", b"\0\0" + (value & 0xFFFF).to_bytes(2, "little"))[0])
    return float(value)


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, wire type and payload of each field."""
    at = start
    while at < end:
        first = at
        at = _varint_end(data, at, end)
        key = varint(data, first, at)
        number, wire = key >> 3, key & 7
        first = at
        if wire == 0:
            at = _varint_end(data, at, end)
        elif wire == 1:
            at += 8
        elif wire == 5:
            at += 4
        elif wire == 2:
            first = _varint_end(data, at, end)
            at = first + varint(data, at, first)
        else:
            raise ValueError("not a wire type")
        if not first <= at <= end or number <= 0:
            raise ValueError("a field leaves its message")
        yield number, wire, first, at


def _varint_end(data: bytes, at: int, end: int) -> int:
    for index in range(at, min(at + 10, end)):
        if data[index] < 0x80:
            return index + 1
    raise ValueError("a number does not end")


def _scalars(data: bytes, start: int, end: int) -> list[Scalar]:
    found = [_scalar(data, first, last) for number, wire, first, last in _fields(data, start, end) if (number, wire) == (1, 2)]
    return [scalar for scalar in found if scalar is not None]


def _scalar(data: bytes, start: int, end: int) -> Scalar | None:
    """A summary value that is one number; None for histograms, images, text and what other plugins keep."""
    tag, value, tensor, plugin = "", None, None, b""
    for number, wire, first, last in _fields(data, start, end):
        if (number, wire) == (1, 2):
            tag = data[first:last].decode(errors="replace")
        elif (number, wire) == (2, 5):
            value = (first, last)
        elif (number, wire) == (8, 2):
            tensor = (first, last)
        elif (number, wire) == (9, 2):
            plugin = _plugin_name(data, first, last)
    if not tag or plugin not in _SCALAR_PLUGINS:
        return None
    if value is not None:
        return Scalar(tag, "<f4", value)
    return _tensor_scalar(tag, data, tensor) if tensor is not None else None


def _plugin_name(data: bytes, start: int, end: int) -> bytes:
    for number, wire, first, last in _fields(data, start, end):
        if (number, wire) == (1, 2):
            names = [data[a:b] for n, w, a, b in _fields(data, first, last) if (n, w) == (1, 2)]
            return names[0] if names else b""
    return b""


def _tensor_scalar(tag: str, data: bytes, tensor: Span) -> Scalar | None:
    """The one element of a numeric tensor, in its content or in a packed list; None for more, fewer or text."""
    data_type, content, packed = 0, None, None
    for number, wire, first, last in _fields(data, *tensor):
        if (number, wire) == (1, 0):
            data_type = varint(data, first, last)
        elif (number, wire) == (4, 2):
            content = (first, last)
        elif number in _PACKED:
            packed = (number, (first, last))
    element = _ELEMENTS.get(data_type)
    if element is None:
        return None
    if content is not None and content[1] - content[0] == _BYTES[element]:
        return Scalar(tag, element, content)
    return _packed_scalar(tag, data, packed, data_type) if packed is not None else None


def _packed_scalar(tag: str, data: bytes, packed: tuple[int, Span], data_type: int) -> Scalar | None:
    number, span = packed
    element = _PACKED[number]
    if element == "varint":
        whole = span[0] < span[1] and _varint_end(data, *span) == span[1]
    else:
        whole = span[1] - span[0] == _BYTES[element]
    return Scalar(tag, element, span, data_type) if whole else None
