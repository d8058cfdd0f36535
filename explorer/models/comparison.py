"""How far two stored tensors of one shape are apart, piece by piece, in float64."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.tensor_reader.decoding import Array, is_decodable
from explorer.models.tensor_reader.places import FAILURES
from explorer.models.tensor_reader.stored import CHUNK_ELEMENTS, StoredTensor

SAMPLES = 256
Step = Callable[[], object]


@dataclass(frozen=True)
class Change:
    """`relative` is the norm of the change over that of the first tensor: infinite when that is zero and the other is not."""

    max_abs: float
    mean_abs: float
    relative: float


def change(first: StoredTensor, second: StoredTensor, step: Step) -> Change:
    """NaN at the same places and infinities of the same sign are equal; a number against either is infinitely far.

    `step` is called between pieces. Raises `ExplorerError` when one of them cannot be read.
    """
    if _same_bytes(first, second, step):
        return Change(0.0, 0.0, 0.0)
    largest = total = squares = norm = 0.0
    with np.errstate(all="ignore"):
        for one, other in zip(first.chunks(), second.chunks(), strict=True):
            step()
            apart = _apart(one, other)
            largest = max(largest, float(apart.max(initial=0.0)))
            total += float(apart.sum())
            squares += float(np.square(apart).sum())
            norm += float(np.square(np.abs(one[np.isfinite(one)]).astype(np.float64)).sum())
        relative = np.sqrt(squares) / np.sqrt(norm) if norm else np.inf if squares else 0.0
    return Change(largest, total / max(1, first.elements), float(relative))


def sample(tensor: StoredTensor) -> Array:
    """At most `SAMPLES` values at equal steps through the beginning of a tensor; `ExplorerError` when it cannot be read."""
    chunk = next(iter(tensor.chunks()), np.zeros(0))
    chosen = chunk[:: max(1, chunk.size // SAMPLES)][:SAMPLES]
    return np.abs(chosen).astype(np.float64) if np.iscomplexobj(chosen) else chosen.astype(np.float64)


def distance(one: Array, other: Array) -> float:
    """Of two samples, relative to the greater: 0 when equal, 1 and more when they have nothing in common."""
    with np.errstate(all="ignore"):
        apart = float(np.linalg.norm(np.nan_to_num(one) - np.nan_to_num(other)))
        return apart / max(float(np.linalg.norm(one)), float(np.linalg.norm(other))) if apart else 0.0


def _same_bytes(first: StoredTensor, second: StoredTensor, step: Step) -> bool:
    """Whether tensors of one type hold the same bytes: quick, and all one can say of types that are not decoded."""
    if first.dtype != second.dtype or not (first.is_contiguous and second.is_contiguous):
        return False
    if first.place is None or second.place is None:
        return False
    if not is_decodable(first.dtype) and first.place.size != second.place.size:
        return False
    for one, other in zip(_bytes(first), _bytes(second), strict=True):
        step()
        if not np.array_equal(one, other):
            return False
    return True


def _bytes(tensor: StoredTensor) -> Iterator[Array]:
    if is_decodable(tensor.dtype):
        yield from (np.frombuffer(raw, np.uint8) for raw, _ in tensor.raw())
        return
    assert tensor.place is not None
    try:
        with tensor.place.opened(0) as stream:
            for start in range(0, tensor.place.size, CHUNK_ELEMENTS):
                yield np.frombuffer(stream.read(min(CHUNK_ELEMENTS, tensor.place.size - start)), np.uint8)
    except FAILURES as error:
        raise ExplorerError(f"{tensor.name} cannot be read ({error})", "fetch or save it again") from None


def _apart(one: Array, other: Array) -> Array:
    wide = np.complex128 if np.iscomplexobj(one) or np.iscomplexobj(other) else np.float64
    one, other = one.astype(wide), other.astype(wide)
    distance = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    result: Array = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    return result
