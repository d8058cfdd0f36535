"""Medians, their ratios with intervals, and when a ratio may be called a difference.

Latencies are right-skewed and disturbed by whatever else runs, so ratios are of medians over interleaved rounds,
their intervals come from a paired bootstrap (Efron and Tibshirani 1993, percentile method), and a null, the
baseline against itself, says how far the same work differs here.
"""

import numpy as np
from numpy.typing import NDArray

from explorer.schemas.results import Ratio, Verdict

Samples = NDArray[np.float64]

RESAMPLES = 500
NULL_LOW, NULL_HIGH = 0.97, 1.03
# The least count at which MLPerf LoadGen's early stopping lets a 90th percentile be stated.
P90_MIN_SAMPLES = 64


def median(values: Samples) -> float:
    """The median of one-dimensional `values`, in their unit."""
    return float(np.median(values))


def p90(values: Samples) -> float | None:
    """The 90th percentile of `values`, in their unit; None below `P90_MIN_SAMPLES` values, which cannot support one."""
    return float(np.percentile(values, 90)) if len(values) >= P90_MIN_SAMPLES else None


def ratio_of_medians(numerator: Samples, denominator: Samples, seed: int, resamples: int = RESAMPLES) -> Ratio:
    """median(numerator) / median(denominator) with its 95 % interval.

    Both hold one value a round; whole rounds are drawn with replacement, so that what disturbed a round stays paired.
    """
    if numerator.shape != denominator.shape or numerator.ndim != 1:
        raise ValueError(f"rounds must pair up: {numerator.shape} against {denominator.shape}")
    rounds = np.random.default_rng(seed).integers(0, len(numerator), size=(resamples, len(numerator)))
    drawn = np.median(numerator[rounds], axis=1) / np.median(denominator[rounds], axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Ratio(value=median(numerator) / median(denominator), low=float(low), high=float(high))


def null_is_clean(null: Ratio) -> bool:
    """Whether the baseline against itself stays so near to 1 that a difference here means something."""
    return null.low >= NULL_LOW and null.high <= NULL_HIGH


def verdict(speed: Ratio, null: Ratio) -> Verdict:
    """What a speed ratio (baseline time over variant time) allows one to say, given the null ratio of the same rounds.

    A winner needs an interval beyond what the null is allowed to stray: identical sessions settle up to 2 % apart,
    with tight intervals, for nothing but where their memory lies.
    """
    if not null_is_clean(null):
        return "too noisy"
    if speed.low > NULL_HIGH:
        return "faster"
    return "slower" if speed.high < NULL_LOW else "no difference"
