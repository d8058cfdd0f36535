"""Is a value of the source among those of a converted model, whatever its shape and order of axes?"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.inference.compare import Array

RELATIVE_TOLERANCE = 1e-4


class Contents:
    """Arrays to look others up in. Two are the same when their elements agree in order, or sorted where axes were moved."""

    def __init__(self, arrays: Iterable[Array]) -> None:
        self._by_size: dict[int, list[_Content]] = defaultdict(list)
        for array in arrays:
            self._by_size[array.size].append(_Content(array))

    def holds(self, array: Array) -> bool:
        """Whether an equal array is among them; an empty one always is."""
        if not array.size:
            return True
        wanted = _Content(array)
        return any(wanted.equals(other) for other in self._by_size[array.size])


class _Content:
    def __init__(self, array: Array) -> None:
        self.flat: NDArray[np.float64] = np.asarray(array).astype(np.float64).ravel()
        self.shape = tuple(size for size in np.shape(array) if size != 1)
        self._sorted: NDArray[np.float64] | None = None
        with np.errstate(all="ignore"):
            finite = self.flat[np.isfinite(self.flat)]
            self.largest = float(np.abs(finite).max(initial=0.0))
            self.mean = float(finite.mean()) if finite.size else 0.0

    def equals(self, other: "_Content") -> bool:
        allowed = RELATIVE_TOLERANCE * max(1e-6, self.largest)
        if abs(self.largest - other.largest) > allowed or abs(self.mean - other.mean) > allowed:
            return False
        if _close(self.flat, other.flat, allowed):
            return True
        moved = sorted(self.shape) == sorted(other.shape) or len(self.shape) != len(other.shape)
        return moved and len(self.shape) > 1 and _close(self.sorted(), other.sorted(), allowed)

    def sorted(self) -> NDArray[np.float64]:
        if self._sorted is None:
            self._sorted = np.sort(self.flat)
        return self._sorted


def _close(left: NDArray[Any], right: NDArray[Any], allowed: float) -> bool:
    return bool(np.allclose(left, right, rtol=0.0, atol=allowed, equal_nan=True))
