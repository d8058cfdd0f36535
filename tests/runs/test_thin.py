"""Thinning loses no peak and no gap."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.runs.columns import Floats
from explorer.runs.thin import thinned

_values = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf])


def _rising(count: int) -> Floats:
    return np.arange(count).astype(np.float64)


@given(st.lists(_values, min_size=1, max_size=200), st.integers(8, 64), st.randoms())
def test_never_more_than_asked_and_ends_and_extremes_stay(
    values: list[float], points: int, random: "np.random.Generator"
) -> None:
    ys = np.array(values)
    xs = np.cumsum(np.array([random.choice((0, 1, 1, 5, 400)) for _ in values], np.float64))
    kept = thinned(xs, ys, points)
    assert len(kept) <= points
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(ys) - 1)
    if not np.isnan(ys).all():
        assert np.nanmin(ys[kept]) == np.nanmin(ys)
        assert np.nanmax(ys[kept]) == np.nanmax(ys)
    assert np.isnan(ys).any() == np.isnan(ys[kept]).any()


def test_few_points_stay_as_they_are() -> None:
    assert thinned(_rising(64), np.zeros(64), 64).tolist() == list(range(64))


def test_each_stretch_keeps_first_lowest_highest_and_last() -> None:
    xs, ys = _rising(100), np.zeros(100)
    ys[[13, 17, 63, 71]] = [5.0, -5.0, 7.0, -7.0]
    kept = thinned(xs, ys, 8)
    assert kept.tolist() == [0, 13, 17, 49, 50, 63, 71, 99]


@pytest.mark.parametrize("gap", [slice(400, 401), slice(100, 900)])
def test_gaps_stay_gaps(gap: slice) -> None:
    ys = np.ones(1000)
    ys[gap] = np.nan
    kept = thinned(_rising(1000), ys, 40)
    assert len(kept) <= 40
    assert np.isnan(ys[kept]).any()


def test_a_million_points_take_moments() -> None:
    xs, ys = _rising(1_000_000), np.random.default_rng(0).random(1_000_000)
    started_s = time.perf_counter()
    thinned(xs, ys, 2048)
    assert time.perf_counter() - started_s < 1.0
