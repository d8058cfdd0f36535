"""Reading the values of a GGUF header one after the other, whatever they claim."""

import struct
from typing import Any, BinaryIO, Literal

from explorer.models.bounds import clean

WINDOW_BYTES = 1 << 20
TEXT_LIMIT_BYTES = 1 << 16  # a longer text is passed over
TEXT_LIMIT_CHARACTERS = 1000
NESTING_LIMIT = 4
ELEMENT_LIMIT = 10_000_000  # texts in arrays; numbers are passed over at once
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
SIGNED = (1, 3, 5, 11)
FLOATS = {6: "f", 12: "d"}
BOOL, TEXT, ARRAY = 7, 8, 9
NAMES = {
    0: "uint8", 1: "int8", 2: "uint16", 3: "int16", 4: "uint32", 5: "int32", 6: "float32", 7: "bool", 8: "texts", 9: "arrays",
    10: "uint64", 11: "int64", 12: "float64",
}  # fmt: skip


class GgufError(Exception):
    """The header is damaged or cut off."""


class Cursor:
    """A place in the file; `order` and `count_bytes` follow from the version."""

    order: Literal["little", "big"] = "little"
    count_bytes = 8

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.size = size
        self._stream = stream
        self._window = b""
        self._start = 0
        self._offset = 0
        self._texts_left = ELEMENT_LIMIT

    @property
    def position(self) -> int:
        return self._start + self._offset

    def bytes(self, length: int) -> bytes:
        end = self._offset + length
        if end > len(self._window):
            self._fill(length)
            end = length
        data = self._window[self._offset : end]
        self._offset = end
        return data

    def integer(self, length: int) -> int:
        return int.from_bytes(self.bytes(length), self.order)

    def count(self) -> int:
        return self.integer(self.count_bytes)

    def text(self) -> str:
        length = self.count()
        if length > TEXT_LIMIT_BYTES:
            self.skip(length)
            return f"a text of {length} bytes"
        return self.bytes(length).decode("utf-8", errors="replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        """A number or text; of an array its length and type, such as "128256 texts"."""
        if kind == TEXT:
            return clean(self.text(), TEXT_LIMIT_CHARACTERS)
        if kind == ARRAY:
            return self._array(depth)
        if kind not in SIZES:
            raise GgufError(f"a value of type {kind}")
        data = self.bytes(SIZES[kind])
        if kind in FLOATS:
            return struct.unpack(("<" if self.order == "little" else ">") + FLOATS[kind], data)[0]
        number = int.from_bytes(data, self.order, signed=kind in SIGNED)
        return bool(number) if kind == BOOL else number

    def skip(self, length: int) -> None:
        if self.position + length > self.size:
            raise GgufError(f"a value ends at byte {self.position + length} of {self.size}")
        self._offset += length
        if self._offset > len(self._window):
            self._start, self._offset, self._window = self.position, 0, b""

    def _array(self, depth: int) -> str:
        kind, count = self.integer(4), self.count()
        if depth > NESTING_LIMIT:
            raise GgufError("arrays nested too deeply")
        if kind in SIZES:
            self.skip(SIZES[kind] * count)
        elif kind in (TEXT, ARRAY):
            self._texts_left -= count
            if self._texts_left < 0 or count * self.count_bytes > self.size:
                raise GgufError(f"an array of {count} values")
            if kind == TEXT:
                self._skip_texts(count)
            else:
                for _ in range(count):
                    self._array(depth + 1)
        else:
            raise GgufError(f"an array of type {kind}")
        return f"{count} {NAMES[kind]}"

    def _skip_texts(self, count: int) -> None:
        """The hot loop: a vocabulary has 100,000 texts and more, so lengths are taken from the window at once."""
        reader = struct.Struct(("<" if self.order == "little" else ">") + ("Q" if self.count_bytes == 8 else "I"))
        width, read = reader.size, reader.unpack_from
        offset, window, limit = self._offset, self._window, len(self._window) - reader.size
        for _ in range(count):
            if offset > limit:
                self._offset = offset
                self._settle(width)
                offset, window, limit = self._offset, self._window, len(self._window) - width
            offset += width + read(window, offset)[0]
        self._offset = offset
        self._settle(0)

    def _settle(self, length: int) -> None:
        """Have `length` bytes from here in the window, after the place may have moved behind it."""
        if self.position > self.size:
            raise GgufError(f"a text ends at byte {self.position} of {self.size}")
        if self._offset + length > len(self._window):
            self._fill(length)

    def _fill(self, length: int) -> None:
        """Move the window so that it begins here and holds `length` bytes."""
        position = self.position
        if position + length > self.size:
            raise GgufError(f"cut off at byte {self.size}")
        self._stream.seek(position)
        self._window = self._stream.read(max(WINDOW_BYTES, length))
        self._start, self._offset = position, 0
        if len(self._window) < length:
            raise GgufError(f"cut off at byte {position + len(self._window)}")
