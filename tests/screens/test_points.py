"""The points of a curve and how they are laid into columns: thinning, gaps, smoothing, logarithms, windows."""

import math
import random

import pytest

from screens.widgets.points import KEPT, THINNED, Points, thinned
from screens.widgets.trace import Trace, View

VIEW = View(0.0, 100.0, 101)


def traced(points: Points, view: View = VIEW) -> Trace:
    trace = Trace(view)
    trace.take(points, view)
    return trace


def steps(count: int) -> list[float]:
    return [float(step) for step in range(count)]


def test_appending_without_end_keeps_peaks_and_ends_in_bounded_memory() -> None:
    points = Points()
    for step in range(50_000):
        points.add(step, 500.0 if step == 17_777 else -3.0 if step == 31_000 else 1.0)
    assert len(points) <= KEPT
    assert (max(points.ys), min(points.ys)) == (500.0, -3.0)
    assert (points.xs[0], points.last_x, points.count) == (0.0, 49_999, 50_000)
    assert points.xs == sorted(points.xs)
    assert not points.complete


def test_thinning_keeps_a_nan_of_each_stretch() -> None:
    ys = [1.0] * 10_000
    ys[5_000] = math.nan
    places = thinned(steps(10_000), ys, THINNED)
    assert len(places) <= THINNED
    assert 5_000 in places


def test_a_point_said_again_replaces_and_an_earlier_one_is_dropped() -> None:
    points = Points(steps(3), [1.0, 2.0, 3.0])
    points.add(2.0, 4.0)
    points.add(1.0, 9.0)
    assert points.ys == [1.0, 2.0, 4.0]


def test_dropping_what_lies_beyond_a_step() -> None:
    points = Points(steps(10), steps(10))
    points.drop_after(4)
    assert (points.last_x, points.count, points.complete) == (4, 5, True)


def test_the_value_at_a_place_is_the_latest_one_there() -> None:
    points = Points([10.0, 20.0], [1.0, 2.0])
    assert [points.at(x) for x in (5, 10, 19, 20, 99)] == [None, 1.0, 1.0, 2.0, 2.0]


def test_columns_hold_first_lowest_highest_and_last() -> None:
    column = traced(Points([10.0, 10.1, 10.2, 10.3], [2.0, 5.0, 1.0, 3.0])).columns[10]
    assert (column.first, column.low, column.high, column.last, column.gap) == (2.0, 1.0, 5.0, 3.0, False)


def test_a_nan_leaves_a_gap_and_no_mark() -> None:
    trace = traced(Points([1.0, 2.0, 3.0], [1.0, math.nan, 2.0]))
    assert sorted(trace.columns) == [1, 3]
    assert trace.columns[3].gap
    assert (trace.low, trace.high) == (1.0, 2.0)


def test_appended_points_are_laid_as_if_all_had_been_there() -> None:
    noise = random.Random(1)
    ys = [noise.random() - 0.2 if place % 17 else math.nan for place in range(400)]
    for view in (VIEW, View(0.0, 100.0, 101, tau=5.0), View(20.0, 60.0, 81, tau=2.0), View(0.0, 100.0, 101, log=True)):
        points = Points()
        growing = Trace(view)
        for place, y in enumerate(ys):
            points.add(place / 4, y)
            if place % 7 == 0:
                growing.take(points, view)
        growing.take(points, view)
        whole = traced(points, view)
        assert growing.columns == whole.columns
        assert (growing.low, growing.high, growing.left_out) == (whole.low, whole.high, whole.left_out)


def test_only_the_columns_of_new_points_are_touched() -> None:
    points = Points(steps(50), steps(50))
    trace = traced(points)
    begun = trace.begun
    points.add(50.0, 1.0)
    trace.take(points, VIEW)
    assert (trace.changed, trace.begun) == (50, begun)
    trace.take(points, VIEW)
    assert trace.changed is None


def test_smoothing_follows_the_axis_and_not_the_density_of_points() -> None:
    """A step from 0 to 1: after `tau` of the axis the average is at 1 - 1/e, with ten points or with a thousand."""
    for count in (100, 1000):
        xs = [100.0 * place / count for place in range(count + 1)]
        points = Points(xs, [0.0 if x < 50 else 1.0 for x in xs])
        trace = traced(points, View(0.0, 100.0, 101, tau=20.0))
        assert trace.columns[70].last == pytest.approx(1 - 1 / math.e, abs=0.02)


def test_smoothing_steps_over_nan() -> None:
    trace = traced(Points([1.0, 2.0, 3.0], [1.0, math.nan, 1.0]), View(0.0, 100.0, 101, tau=10.0))
    assert [column.last for column in trace.columns.values()] == [1.0, 1.0]
    assert trace.columns[3].gap


def test_a_logarithm_leaves_out_what_it_does_not_exist_for_and_counts_it() -> None:
    trace = traced(Points([1.0, 2.0, 3.0, 4.0], [100.0, 0.0, -5.0, 0.01]), View(0.0, 100.0, 101, log=True))
    assert {place: column.last for place, column in trace.columns.items()} == {1: 2.0, 4: -2.0}
    assert trace.left_out == 2
    assert trace.columns[4].gap


def test_a_window_shows_the_line_that_enters_and_leaves_it() -> None:
    trace = traced(Points([0.0, 100.0], [0.0, 100.0]), View(40.0, 60.0, 21))
    assert {place: column.last for place, column in trace.columns.items()} == {0: 40.0, 20: 60.0}
    assert (trace.low, trace.high) == (40.0, 60.0)


def test_a_gap_is_not_bridged_at_the_edge_of_a_window() -> None:
    trace = traced(Points([0.0, 30.0, 50.0], [0.0, math.nan, 1.0]), View(40.0, 60.0, 21))
    assert sorted(trace.columns) == [10]


def test_rewound_points_are_drawn_anew() -> None:
    points = Points(steps(50), steps(50))
    trace = traced(points)
    points.drop_after(20)
    trace.take(points, VIEW)
    assert max(trace.columns) == 20
