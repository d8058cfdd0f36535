"""Folding by step: the later value wins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from explorer.runs.columns import Batch, column
from explorer.runs.series import History, Series

_points = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 99)), max_size=40)


def _folded(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One point after the other: what lies at or beyond a step gives way to it."""
    kept: list[tuple[int, int]] = []
    for step, value in points:
        kept = [item for item in kept if item[0] < step] + [(step, value)]
    return kept


@given(st.lists(_points, max_size=5))
def test_columns_fold_as_single_points_do(parts: list[list[tuple[int, int]]]) -> None:
    series = Series()
    for part in parts:
        series.append(column([step for step, _ in part], [value for _, value in part], [1.0] * len(part)))
    expected = _folded([point for part in parts for point in part])
    assert list(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == expected
    assert len(series.times) == len(expected)


def test_it_grows_far() -> None:
    series = Series()
    for start in range(0, 10_000, 1000):
        series.append(column(np.arange(start, start + 1000), np.ones(1000), np.ones(1000)))
    assert series.steps.tolist() == list(range(10_000))


def test_cuts_are_remembered_for_cursors() -> None:
    series = Series()
    series.append(column(range(10), range(10), [1.0] * 10))
    series.append(column([4], [0.0], [1.0]))
    assert not series.cut(4)
    assert series.shortened == [4]


def test_a_restart_forgets_all() -> None:
    history = History()
    history.add(Batch({"loss": column([1, 2], [1.0, 1.0], [5.0, 6.0])}))
    assert (history.last_step(), history.time_range()) == (2, (5.0, 6.0))
    history.add(Batch(restarted=True))
    assert (history.series, history.restarts, history.last_step(), history.time_range()) == ({}, 1, None, None)


def test_times_of_zero_are_unknown() -> None:
    history = History()
    history.add(Batch({"loss": column([1, 2, 3], [1.0] * 3, [0.0, 7.0, 0.0])}))
    assert history.time_range() == (7.0, 7.0)
