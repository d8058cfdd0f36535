"""The two data sets: handwritten digits from the samples, and a noisy linear map made from a seed."""

import gzip
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from explorer.errors import ExplorerError
from explorer.home import samples_folder

Split = Literal["train", "test"]
NAMES = ("digits", "linear")
TEST_SHARE = 0.2
SPLIT_SEED = 0
LINEAR_SAMPLES = 1000
LINEAR_INPUTS = 10
LINEAR_NOISE = 0.1
PIXEL_MAX = 16.0


@dataclass(frozen=True)
class Dataset:
    """Samples in order: `inputs` float32; `targets` int64 classes (N,), or float32 (N, outputs) where `classes` is None."""

    name: str
    inputs: npt.NDArray[np.float32]
    targets: npt.NDArray[Any]
    classes: int | None

    def __len__(self) -> int:
        return len(self.targets)


def load(name: str, split: Split) -> Dataset:
    """A data set's "train" (80 %) or "test" (20 %) part, the same on every call and machine.

    digits: inputs (N, 1, 8, 8) in 0..1, targets 0 to 9, split by class. linear: inputs (N, 10), targets (N, 1).
    """
    if name == "digits":
        return _digits(split)
    if name == "linear":
        return _linear(split)
    raise ExplorerError(f"there is no data set {name!r}", f"one of {', '.join(NAMES)}")


def accuracy(logits: npt.ArrayLike, targets: npt.ArrayLike) -> float:
    """Share of rows of `logits` (N, classes) whose largest value is at the class in `targets` (N,)."""
    return float(np.mean(np.argmax(np.asarray(logits), axis=1) == np.asarray(targets)))


def _digits(split: Split) -> Dataset:
    path = samples_folder() / "digits.csv.gz"
    if not path.is_file():
        raise ExplorerError(f"{path} is missing", "install explorer again")
    with gzip.open(path, "rt", encoding="ascii") as stream:
        rows = np.loadtxt(stream, delimiter=",", dtype=np.int64)
    images = (rows[:, :-1].reshape(-1, 1, 8, 8) / PIXEL_MAX).astype(np.float32)
    classes = rows[:, -1]
    chosen = _stratified(classes, split)
    return Dataset("digits", images[chosen], classes[chosen], 10)


def _stratified(classes: npt.NDArray[np.int64], split: Split) -> npt.NDArray[np.int64]:
    """Positions of one part, with the same share of every class in both parts."""
    random = np.random.default_rng(SPLIT_SEED)
    in_test = np.zeros(len(classes), dtype=bool)
    for label in np.unique(classes):
        positions = random.permutation(np.flatnonzero(classes == label))
        in_test[positions[: round(len(positions) * TEST_SHARE)]] = True
    return np.flatnonzero(in_test == (split == "test")).astype(np.int64)


def _linear(split: Split) -> Dataset:
    random = np.random.default_rng(SPLIT_SEED)
    weights = random.normal(size=(LINEAR_INPUTS, 1))
    inputs = random.normal(size=(LINEAR_SAMPLES, LINEAR_INPUTS))
    targets = inputs @ weights + 0.5 + LINEAR_NOISE * random.normal(size=(LINEAR_SAMPLES, 1))
    tests = round(LINEAR_SAMPLES * TEST_SHARE)
    part = slice(0, tests) if split == "test" else slice(tests, None)
    return Dataset("linear", inputs[part].astype(np.float32), targets[part].astype(np.float32), None)
