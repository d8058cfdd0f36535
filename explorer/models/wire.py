"""Walking protocol buffers on disk without reading what is not asked for.

Encoding: https://protobuf.dev/programming-guides/encoding/
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

WINDOW_BYTES = 65_536
TEXT_LIMIT_BYTES = 1 << 20
FIELD_LIMIT = 2_000_000  # a graph of 100,000 operators has about 1.5 million
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

Span = tuple[int, int]
Field = tuple[int, int, int | Span]


class WireError(Exception):
    """The bytes are no protocol buffer, or it is cut off."""


class Wire:
    """A protocol buffer in a seekable file. Messages are spans (start, end) of file positions."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.whole: Span = (0, size)
        self._stream = stream
        self._start = 0
        self._window = b""
        self._left = FIELD_LIMIT

    def fields(self, span: Span) -> Iterator[Field]:
        """(number, wire type, value) in order: an integer, or the span of bytes, text or a nested message, which is not read."""
        position, end = span
        while position < end:
            offset = position - self._start
            if 0 <= offset < len(self._window) and self._window[offset] < 0x80:
                key, position = self._window[offset], position + 1
            else:
                key, position = self._varint(position, end)
            number, kind = key >> 3, key & 7
            self._left -= 1
            if self._left < 0:
                raise WireError(f"more than {FIELD_LIMIT} fields")
            if number == 0:
                raise WireError(f"field 0 at byte {position}")
            if kind == VARINT:
                value, position = self._varint(position, end)
                yield number, kind, value
                continue
            if kind == LENGTH:
                offset = position - self._start
                if position < end and 0 <= offset < len(self._window) and self._window[offset] < 0x80:
                    length, position = self._window[offset], position + 1
                else:
                    length, position = self._varint(position, end)
            elif kind in (FIXED64, FIXED32):
                length = 8 if kind == FIXED64 else 4
            else:
                raise WireError(f"wire type {kind} at byte {position}")
            if position + length > end:
                raise WireError(f"field {number} ends at byte {position + length} of {end}")
            yield number, kind, (position, position + length)
            position += length

    def spans(self, span: Span, number: int) -> Iterator[Span]:
        """Every nested message, text or bytes of one field."""
        for found, _, value in self.fields(span):
            if found == number and isinstance(value, tuple):
                yield value

    def first(self, span: Span, *numbers: int) -> Span | None:
        """The nested span below `numbers`, first of each; None when one is missing."""
        current: Span | None = span
        for number in numbers:
            current = next(self.spans(current, number), None) if current else None
        return current

    def integer(self, span: Span, number: int, default: int = 0) -> int:
        return next((value for found, _, value in self.fields(span) if found == number and isinstance(value, int)), default)

    def integers(self, span: Span, number: int) -> list[int]:
        """A repeated integer field, packed or not, as signed 64 bit."""
        result: list[int] = []
        for found, _, value in self.fields(span):
            if found != number:
                continue
            result.extend([_signed(value)] if isinstance(value, int) else self.packed(value))
        return result

    def packed(self, span: Span) -> list[int]:
        position, end = span
        result = []
        while position < end:
            value, position = self._varint(position, end)
            result.append(_signed(value))
        return result

    def text(self, span: Span | None) -> str:
        """At most a mebibyte of text; "" for None."""
        return self.bytes(span).decode("utf-8", errors="replace") if span else ""

    def bytes(self, span: Span) -> bytes:
        start, length = span[0], min(span[1] - span[0], TEXT_LIMIT_BYTES)
        self._fill(start, length)
        offset = start - self._start
        return self._window[offset : offset + length]

    def map_items(self, span: Span, number: int) -> Iterator[tuple[str, Span]]:
        """Key and value span of each entry of a map field with text keys."""
        for entry in self.spans(span, number):
            value = self.first(entry, 2)
            if value is not None:
                yield self.text(self.first(entry, 1)), value

    def uint64_field(self, span: Span, number: int) -> int:
        """An integer that may be a varint or fixed 64 bit."""
        for found, kind, value in self.fields(span):
            if found == number:
                return (
                    value if isinstance(value, int) else int(struct.unpack("<Q", self.bytes(value))[0]) if kind == FIXED64 else 0
                )
        return 0

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        result = shift = 0
        while shift < 70:
            if position >= end:
                raise WireError(f"cut off at byte {position}")
            offset = position - self._start
            if not 0 <= offset < len(self._window):
                self._fill(position, 1)
                offset = position - self._start
                if offset >= len(self._window):
                    raise WireError(f"cut off at byte {position}")
            byte = self._window[offset]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result, position
            shift += 7
        raise WireError(f"endless number at byte {position}")

    def _fill(self, start: int, length: int) -> None:
        """Have `length` bytes from `start` in the window."""
        offset = start - self._start
        if offset >= 0 and offset + length <= len(self._window):
            return
        self._stream.seek(start)
        self._start = start
        self._window = self._stream.read(max(WINDOW_BYTES, length))


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
