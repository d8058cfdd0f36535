"""Statistics of one stored tensor in two passes of bounded memory, with float64 sums.

Over its finite elements: minimum, maximum, mean, standard deviation (of the population: divided by n, not n - 1), Euclidean norm,
zeros and a histogram of equal bins from minimum to maximum. Complex numbers stand by their magnitudes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from explorer.models.tensor_reader.decoding import Array
from explorer.models.tensor_reader.stored import StoredTensor
from explorer.schemas.model_results import TensorValues

PASSES = 2
Step = Callable[[int], None]


@dataclass
class _Sums:
    """What the first pass knows."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    zeros: int = 0
    nans: int = 0
    infinities: int = 0

    def add(self, values: Array) -> None:
        nans = int(np.isnan(values).sum())
        finite = _finite(values)
        self.nans += nans
        self.infinities += values.size - finite.size - nans
        if not finite.size:
            return
        self.count += finite.size
        self.zeros += finite.size - int(np.count_nonzero(finite))
        self.total += float(finite.sum())
        self.squares += float(np.dot(finite, finite))
        self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))


def statistics(tensor: StoredTensor, bins: int, step: Step) -> TensorValues:
    """`step` is called with the elements of each piece, `PASSES` times over. Raises `ExplorerError` when there are no values."""
    sums = _Sums()
    with np.errstate(all="ignore"):
        for values in _float_chunks(tensor, step):
            sums.add(values)
        known = TensorValues(
            name=tensor.name,
            shape=list(tensor.shape),
            dtype=tensor.dtype,
            elements=tensor.elements,
            zeros=sums.zeros,
            nans=sums.nans,
            infinities=sums.infinities,
        )
        return known.model_copy(update=_second_pass(tensor, sums, bins, step)) if sums.count else known


def _second_pass(tensor: StoredTensor, sums: _Sums, bins: int, step: Step) -> dict[str, object]:
    mean = sums.total / sums.count
    edges = np.histogram_bin_edges([], bins, _range(sums))
    counts = np.zeros(bins, np.int64)
    deviations = 0.0
    for values in _float_chunks(tensor, step):
        finite = _finite(values)
        counts += np.histogram(finite.clip(edges[0], edges[-1]), bins, (edges[0], edges[-1]))[0]
        deviations += float(np.square(finite - mean).sum())
    return {
        "minimum": sums.low,
        "maximum": sums.high,
        "mean": mean,
        "std": float(np.sqrt(deviations / sums.count)),
        "norm": float(np.sqrt(sums.squares)),
        "histogram": counts.tolist(),
        "edges": edges.tolist(),
    }


def _range(sums: _Sums) -> tuple[float, float]:
    """From the least to the greatest; around the value when there is only one, and clipped where the width would overflow."""
    if sums.low == sums.high:
        around = max(0.5, abs(sums.low) * 1e-3)
        return sums.low - around, sums.high + around
    limit = float(np.finfo(np.float64).max) / 4
    return max(sums.low, -limit), min(sums.high, limit)


def _float_chunks(tensor: StoredTensor, step: Step) -> Iterator[Array]:
    for chunk in tensor.chunks():
        yield (np.abs(chunk) if np.iscomplexobj(chunk) else chunk).astype(np.float64)
        step(chunk.size)


def _finite(values: Array) -> Array:
    mask = np.isfinite(values)
    return values if mask.all() else values[mask]
