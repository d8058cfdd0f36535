import numpy as np
import pytest

from explorer.inference import statistics
from explorer.schemas.results import Ratio


def rounds(center: float, spread: float, count: int = 300, seed: int = 0) -> statistics.Samples:
    return center * np.exp(np.random.default_rng(seed).normal(0, spread, count))


def test_the_ratio_of_medians_and_its_interval_find_a_known_ratio() -> None:
    ratio = statistics.ratio_of_medians(rounds(2.0, 0.05, seed=1), rounds(1.0, 0.05, seed=2), seed=0)
    assert ratio.low < 2.0 < ratio.high
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.high - ratio.low < 0.06


def test_the_interval_covers_the_true_ratio_about_95_times_in_100() -> None:
    covered = 0
    for seed in range(200):
        ratio = statistics.ratio_of_medians(rounds(1.5, 0.1, 60, seed), rounds(1.0, 0.1, 60, seed + 1000), seed=seed)
        covered += ratio.low <= 1.5 <= ratio.high
    assert 180 <= covered <= 199


def test_a_disturbance_shared_by_a_round_cancels_in_the_pairs() -> None:
    disturbed = rounds(1.0, 0.5)
    ratio = statistics.ratio_of_medians(2 * disturbed, disturbed, seed=0)
    assert ratio.low == pytest.approx(2.0)
    assert ratio.high == pytest.approx(2.0)


def test_outliers_do_not_move_the_ratio() -> None:
    baseline, variant = rounds(1.0, 0.01, seed=1), rounds(1.0, 0.01, seed=2)
    variant[::10] *= 1000
    assert statistics.ratio_of_medians(baseline, variant, seed=0).value == pytest.approx(1.0, abs=0.01)


def test_the_same_seed_gives_the_same_interval() -> None:
    first, second = (statistics.ratio_of_medians(rounds(1, 0.1, seed=1), rounds(1, 0.1, seed=2), seed=7) for _ in range(2))
    assert first == second


def test_rounds_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ValueError, match="pair up"):
        statistics.ratio_of_medians(np.ones(20), np.ones(21), seed=0)


def test_median_and_90th_percentile() -> None:
    values = np.arange(1, 102).astype(np.float64)
    assert statistics.median(values) == 51.0
    assert statistics.p90(values) == pytest.approx(91.0)


def test_too_few_values_support_no_90th_percentile() -> None:
    assert statistics.p90(np.ones(63)) is None
    assert statistics.p90(np.ones(64)) == 1.0


CLEAN = Ratio(value=1.0, low=0.99, high=1.01)


@pytest.mark.parametrize(
    ("speed", "null", "expected"),
    [
        ((1.5, 1.4, 1.6), (1.0, 0.99, 1.01), "faster"),
        ((0.5, 0.4, 0.6), (1.0, 0.99, 1.01), "slower"),
        ((1.0, 0.98, 1.02), (1.0, 0.99, 1.01), "no difference"),
        ((1.5, 0.9, 2.0), (1.0, 0.99, 1.01), "no difference"),
        ((1.02, 1.015, 1.025), (1.0, 0.99, 1.01), "no difference"),
        ((0.985, 0.983, 0.987), (1.0, 0.99, 1.01), "no difference"),
        ((9.0, 8.0, 10.0), (1.48, 0.19, 9.54), "too noisy"),
        ((9.0, 8.0, 10.0), (1.0, 0.96, 1.01), "too noisy"),
        ((1.0, 1.0, 1.0), (1.0, 0.99, 1.04), "too noisy"),
    ],
)
def test_verdict(speed: tuple[float, float, float], null: tuple[float, float, float], expected: str) -> None:
    assert statistics.verdict(_ratio(speed), _ratio(null)) == expected


def _ratio(values: tuple[float, float, float]) -> Ratio:
    value, low, high = values
    return Ratio(value=value, low=low, high=high)


def test_the_baseline_against_itself_rarely_earns_a_verdict() -> None:
    """Of 200 comparisons of the same work, disturbed by 3 %, none is called a difference."""
    for seed in range(200):
        null = statistics.ratio_of_medians(rounds(1, 0.03, seed=seed), rounds(1, 0.03, seed=seed + 500), seed=seed)
        speed = statistics.ratio_of_medians(rounds(1, 0.03, seed=seed), rounds(1, 0.03, seed=seed + 900), seed=seed)
        assert statistics.verdict(speed, null) in ("no difference", "too noisy")


def test_a_real_difference_with_a_clean_null_is_called() -> None:
    speed = statistics.ratio_of_medians(rounds(1.3, 0.03, seed=1), rounds(1.0, 0.03, seed=2), seed=0)
    assert statistics.verdict(speed, CLEAN) == "faster"
