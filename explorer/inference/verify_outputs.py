"""Which outputs of two models belong together, and how far they are apart."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.inference.compare import snr_db
from explorer.inference.findings import Findings
from explorer.inference.ports import Array
from explorer.inference.verify_pairs import Order
from explorer.schemas.model_results import OutputDifference

Outputs = dict[str, Array]  # every array is (samples, ...) here
MOST_PERMUTED = 6


@dataclass(frozen=True)
class Partners:
    """Output names that are compared, and those of either model that nothing answers."""

    pairs: list[tuple[str, str]]
    alone: list[str]
    other_alone: list[str]


def pair_outputs(first: Outputs, second: Outputs, findings: Findings) -> Partners:
    """By name; the rest by order while the shapes agree, else by shape, and among equal shapes by the nearest values."""
    pairs = [(name, name) for name in first if name in second]
    ours = [name for name in first if name not in second]
    theirs = [name for name in second if name not in first]
    if len(ours) == len(theirs) and all(first[a].shape == second[b].shape for a, b in zip(ours, theirs, strict=True)):
        return Partners(pairs + list(zip(ours, theirs, strict=True)), [], [])
    found = _by_shape(first, second, ours, theirs)
    if found and (len(ours), len(theirs)) != (1, 1):
        words = ", ".join(f"{a} with {b}" for a, b in found)
        findings.add("warning", "outputs are paired by shape and values", f"{words}; neither names nor order say which is which")
    taken, other_taken = {a for a, _ in found}, {b for _, b in found}
    alone, other_alone = [a for a in ours if a not in taken], [b for b in theirs if b not in other_taken]
    shorter = min(len(alone), len(other_alone))
    rest = list(zip(alone[:shorter], other_alone[:shorter], strict=True))
    return Partners(pairs + found + rest, alone[shorter:], other_alone[shorter:])


def _by_shape(first: Outputs, second: Outputs, ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for shape in dict.fromkeys(first[name].shape for name in ours):
        left = [name for name in ours if first[name].shape == shape]
        right = [name for name in theirs if second[name].shape == shape]
        found += _nearest(first, second, left, right)
    return found


def _nearest(first: Outputs, second: Outputs, left: list[str], right: list[str]) -> list[tuple[str, str]]:
    """The assignment with the smallest largest error; by order when there are too many to try."""
    count = min(len(left), len(right))
    if count == 0 or max(len(left), len(right)) > MOST_PERMUTED:
        return list(zip(left[:count], right[:count], strict=True))
    assignments = (
        list(zip(some, others, strict=True))
        for some in itertools.combinations(left, count)
        for others in itertools.permutations(right, count)
    )
    return min(assignments, key=lambda pairs: max(_error(first[a], second[b]) for a, b in pairs))


def turned_back(first: Outputs, second: Outputs, orders: Sequence[Order], findings: Findings) -> Outputs:
    """The second's outputs with their axes as the first has them, where its inputs were permuted and that makes shapes agree."""
    result = dict(second)
    shapes = [value.shape[1:] for value in first.values()]
    for name, value in second.items():
        for order in orders:
            back = tuple(int(axis) for axis in np.argsort(order))
            if value.ndim != len(order) + 1 or value.shape[1:] in shapes:
                continue
            turned = value.transpose(0, *(axis + 1 for axis in back))
            if turned.shape[1:] in shapes:
                findings.add("info", f"the axes of output {name} are permuted back", f"order {back}")
                result[name] = turned
                break
    return result


def difference(name: str, other_name: str, first: Array, second: Array) -> OutputDifference:
    """How far two outputs (samples, ...) are apart; errors are None when the shapes differ.

    The relative error is the largest absolute error over the first's largest magnitude. Values that are the same infinity, or NaN
    on both sides, do not differ; one that is NaN on one side only differs infinitely, and so do outputs without any finite value,
    which prove nothing.
    """
    shape, other_shape = list(first.shape[1:]), list(second.shape[1:])
    if first.shape != second.shape:
        return OutputDifference(name=name, other_name=other_name, shape=shape, other_shape=other_shape)
    error = _error(first, second)
    finite = first[np.isfinite(first)] if first.dtype.kind == "f" else first
    magnitude = float(np.abs(finite.astype(np.float64)).max(initial=0.0))
    classes = len(shape) == 2 and shape[-1] > 1
    return OutputDifference(
        name=name,
        other_name=other_name,
        shape=shape,
        other_shape=other_shape,
        max_abs_error=error,
        max_rel_error=error / magnitude if magnitude else 0.0 if error == 0.0 else math.inf,
        snr_db=math.inf if error == 0.0 else snr_db(first, second),
        agreement=float((first.argmax(-1) == second.argmax(-1)).mean()) if classes and first.size else None,
    )


def _error(first: Array, second: Array) -> float:
    one, other = first.astype(np.float64), second.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(one - other)
    gaps[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
    gaps[np.isnan(gaps)] = math.inf
    if one.size and not np.isfinite(one).any():
        return math.inf
    return float(gaps.max(initial=0.0))
