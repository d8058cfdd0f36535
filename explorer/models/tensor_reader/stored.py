"""A tensor as it lies in a file: where its bytes are and how they become numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.dtypes import bytes_of, elements_of
from explorer.models.tensor_reader.decoding import Array, decoded, is_decodable
from explorer.models.tensor_reader.places import AGAIN, FAILURES, Place
from explorer.schemas.model_results import TensorInfo

CHUNK_ELEMENTS = 1 << 18
REPEATED_LIMIT = 1 << 26  # elements of a view that shows some numbers more than once


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a file; nothing is read until it is asked for.

    `start` and `strides` count elements of `place`; no strides means one after another. `make` gives values that are not simply
    there. `problem` is why there are none. `parts` are the names of the stored tensors behind a computed one, which no
    description lists.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: Place | None = None
    start: int = 0
    strides: tuple[int, ...] | None = None
    make: Callable[[], Array] | None = None
    problem: ExplorerError | None = None
    parts: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        return elements_of(self.shape)

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(name=self.name, shape=list(self.shape), dtype=self.dtype, bytes=self.bytes)

    @property
    def bytes(self) -> int:
        known = bytes_of(self.dtype, self.elements)
        return known if known or self.place is None or not self.elements else self.place.size

    def check(self) -> None:
        """Raise `ExplorerError` in one sentence when there are no values, or the file is too short for the claimed shape."""
        if self.problem is not None:
            raise self.problem
        if self.make is not None:
            return
        if not is_decodable(self.dtype):
            raise ExplorerError(
                f"{self.name} has no values that explorer can read: its type is {self.dtype}", "choose another tensor"
            )
        if self.place is None:
            raise ExplorerError(f"{self.name} has no values in the file", AGAIN)
        span = self._span()
        needed = bytes_of(self.dtype, self.start + span)
        if self.start < 0 or needed > self.place.size:
            raise ExplorerError(f"{self.name} claims {needed} bytes of a storage that holds {self.place.size}", AGAIN)
        if self.elements > max(span, REPEATED_LIMIT):
            raise ExplorerError(f"{self.name} shows {span} numbers as {self.elements}, too many to unroll", "save it contiguous")

    def raw(self) -> Iterator[tuple[memoryview, int]]:
        """The bytes between its first and last element, in pieces with their number of elements; each is valid until the next.

        A view's gaps come along, and the order is that of the storage.
        """
        self.check()
        assert self.place is not None
        left = self._span()
        buffer = memoryview(bytearray(bytes_of(self.dtype, min(left, CHUNK_ELEMENTS))))
        try:
            with self.place.opened(bytes_of(self.dtype, self.start)) as stream:
                while left > 0:
                    count = min(left, CHUNK_ELEMENTS)
                    piece = buffer[: bytes_of(self.dtype, count)]
                    if stream.readinto(piece) != len(piece):  # type: ignore[attr-defined]  # every binary stream has it
                        raise EOFError("it ends before its last number")
                    yield piece, count
                    left -= count
        except FAILURES as error:
            raise ExplorerError(f"{self.name} cannot be read ({error})", AGAIN) from None

    def chunks(self) -> Iterator[Array]:
        """All values in row-major order, flat, at most `CHUNK_ELEMENTS` at a time; each piece is valid until the next."""
        if self.make is None and self.is_contiguous:
            for raw, count in self.raw():
                yield decoded(raw, self.dtype, count)
            return
        flat = self.array().reshape(-1)
        for start in range(0, flat.size, CHUNK_ELEMENTS):
            yield flat[start : start + CHUNK_ELEMENTS]

    def array(self) -> Array:
        """All values in its shape, read-only; bfloat16 and smaller floats as float32."""
        self.check()
        try:
            return self.make() if self.make is not None else self._read()
        except (MemoryError, ValueError) as error:
            raise ExplorerError(f"{self.name} cannot be read ({str(error) or 'no memory is left'})", AGAIN) from None

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another; the stride of a dimension of one says nothing."""
        if self.strides is None or self.elements == 0:
            return True
        sized = [(size, step) for size, step in zip(self.shape, self.strides, strict=True) if size != 1]
        inner = not sized or sized[-1][1] == 1
        return inner and all(step == size * next_step for (_, step), (size, next_step) in pairwise(sized))

    def _read(self) -> Array:
        pieces = [decoded(raw, self.dtype, count).copy() for raw, count in self.raw()]
        flat = np.concatenate(pieces) if pieces else decoded(b"", self.dtype, 0)
        if self.is_contiguous or self.strides is None:
            return flat.reshape(self.shape)
        steps = [step * flat.itemsize for step in self.strides]
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False)

    def _span(self) -> int:
        """Elements from the first to behind the last, gaps included."""
        if self.strides is None or self.elements == 0:
            return self.elements
        return 1 + sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))


def unreadable(name: str, shape: tuple[int, ...], dtype: str, message: str, remedy: str = AGAIN) -> StoredTensor:
    """A tensor whose values cannot be had, with the sentence that says why."""
    return StoredTensor(name, shape, dtype, problem=ExplorerError(message, remedy))
