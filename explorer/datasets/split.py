"""Which samples are held out: the same on every call and machine."""

from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.datasets.dataset import Dataset, Parts

Positions = npt.NDArray[np.int64]
SPLIT_SEED = 0


def held_out_positions(count: int, share: float, classes: npt.NDArray[Any] | None = None) -> Positions:
    """Positions of the held-out samples in order, with `share` of every class; of all where classes are unknown or too small.

    At least one sample of two or more, unless `share` is 0; never all of a class.
    """
    random = np.random.default_rng(SPLIT_SEED)
    chosen = np.zeros(count, dtype=bool)
    if share > 0 and classes is not None and classes.ndim == 1:
        for label in np.unique(classes):
            positions = random.permutation(np.flatnonzero(classes == label))
            chosen[positions[: min(len(positions) - 1, round(len(positions) * share))]] = True
    if share > 0 and not chosen.any() and count > 1:
        wanted = min(count - 1, max(1, round(count * share)))
        chosen[random.permutation(count)[:wanted]] = True
    return np.flatnonzero(chosen).astype(np.int64)


def others(count: int, positions: Positions) -> Positions:
    """Every position that is not among these, in order."""
    return np.setdiff1d(np.arange(count, dtype=np.int64), positions, assume_unique=True)


def split(dataset: Dataset, share: float) -> Parts:
    """The samples in two parts."""
    held_out = held_out_positions(len(dataset), share, dataset.targets if dataset.classes is not None else None)
    if not len(held_out):
        return Parts(dataset, None)
    return Parts(dataset.taken(others(len(dataset), held_out)), dataset.taken(held_out))
