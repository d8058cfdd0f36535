"""The two data sets that ship with explorer: handwritten digits, and a noisy linear map made from a seed."""

import gzip

import numpy as np

from explorer.datasets.dataset import Dataset, Parts
from explorer.datasets.split import SPLIT_SEED, split
from explorer.errors import ExplorerError
from explorer.home import samples_folder

LINEAR_SAMPLES = 1000
LINEAR_INPUTS = 10
LINEAR_NOISE = 0.1
PIXEL_MAX = 16.0


def digits(share: float) -> Parts:
    """Inputs (N, 1, 8, 8) in 0..1, targets 0 to 9; `share` of each class held out."""
    path = samples_folder() / "digits.csv.gz"
    if not path.is_file():
        raise ExplorerError(f"{path} is missing", "install explorer again")
    with gzip.open(path, "rt", encoding="ascii") as stream:
        rows = np.loadtxt(stream, delimiter=",", dtype=np.int64)
    images = (rows[:, :-1].reshape(-1, 1, 8, 8) / PIXEL_MAX).astype(np.float32)
    return split(Dataset("digits", images, rows[:, -1], 10), share)


def linear(share: float) -> Parts:
    """Inputs (N, 10), targets (N, 1) with noise of 0.1; the first samples held out."""
    random = np.random.default_rng(SPLIT_SEED)
    weights = random.normal(size=(LINEAR_INPUTS, 1))
    inputs = random.normal(size=(LINEAR_SAMPLES, LINEAR_INPUTS))
    targets = inputs @ weights + 0.5 + LINEAR_NOISE * random.normal(size=(LINEAR_SAMPLES, 1))
    whole = Dataset("linear", inputs.astype(np.float32), targets.astype(np.float32), None)
    tests = round(LINEAR_SAMPLES * share)
    return Parts(whole.taken(slice(tests, None)), whole.taken(slice(0, tests)) if tests else None)
