"""Samples in memory, the same for every kind of data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Split = Literal["train", "test"]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Dataset:
    """Samples in order: `inputs` float32 or int64; `targets` int64 classes (N,), or float32 (N, outputs) where `classes` is None.

    `class_names` are in the order of the class numbers, and empty where the classes have none.
    """

    name: str
    inputs: Array
    targets: Array
    classes: int | None
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.targets)

    def taken(self, positions: npt.NDArray[np.int64] | slice) -> "Dataset":
        """The samples at these positions."""
        return Dataset(self.name, self.inputs[positions], self.targets[positions], self.classes, self.class_names)

    def spread(self, count: int) -> "Dataset":
        """At most `count` samples from all over the data, which is often in the order of its classes."""
        if count >= len(self):
            return self
        return self.taken(np.linspace(0, len(self) - 1, count).astype(np.int64))


class Parts(NamedTuple):
    """What is trained on and what is held out; None where nothing is."""

    train: Dataset
    held_out: Dataset | None


def accuracy(logits: npt.ArrayLike, targets: npt.ArrayLike) -> float:
    """Share of rows of `logits` (N, classes) whose largest value is at the class in `targets` (N,)."""
    return float(np.mean(np.argmax(np.asarray(logits), axis=1) == np.asarray(targets)))


def describe(parts: Parts) -> str:
    """One line: "1,438 training and 359 held-out samples of 1 x 8 x 8, 10 classes"."""
    held_out = f"{len(parts.held_out):,} held-out" if parts.held_out else "no held-out"
    shape = shape_words(parts.train.inputs.shape[1:])
    return f"{len(parts.train):,} training and {held_out} samples of {shape}, {_targets(parts.train)}"


def shape_words(shape: Sequence[int]) -> str:
    """The shape of one sample: "1 x 8 x 8", "10 numbers"."""
    sizes = [str(size) for size in shape]
    return " x ".join(sizes) if len(sizes) > 1 else f"{sizes[0]} numbers" if sizes and sizes != ["1"] else "one number"


def _targets(dataset: Dataset) -> str:
    if dataset.classes is None:
        count = int(np.prod(dataset.targets.shape[1:]))
        return "one value to predict" if count == 1 else f"{shape_words(dataset.targets.shape[1:])} to predict"
    names = ", ".join(dataset.class_names[:5]) + (", ..." if len(dataset.class_names) > 5 else "")
    return f"{dataset.classes} classes" + (f" ({names})" if names else "")
