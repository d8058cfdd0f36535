"""Axes: round ends, strengths of smoothing, windows that zoom and pan, the cursor's columns."""

import pytest

from screens.widgets.scales import log_range, panned, round_range, round_up, smoothing_length, zoomed
from screens.widgets.sight import ALL, Sight


def test_round_ranges_hold_the_values_and_keep_what_is_fixed() -> None:
    assert round_range(0.04, 2.31) == (0.0, 2.5)
    assert round_range(0.0, 1.0, True, True) == (0.0, 1.0)
    low, high = round_range(5.0, 5.0)
    assert low <= 5.0 < high


def test_ranges_of_logarithms_are_decades_or_half_ones() -> None:
    assert log_range(-2.3, 1.1) == (-3.0, 2.0)
    assert log_range(-0.9, -0.6) == (-1.0, -0.5)
    assert log_range(1.0, 1.0) == (1.0, 1.5)


def test_an_axis_without_a_known_end_leaves_at_most_a_third_empty() -> None:
    assert [round_up(value) for value in (1.0, 1.1, 7.0, 1840.0, 4000.0, 0.03)] == [1.0, 1.2, 8.0, 2000.0, 4000.0, 0.03]
    assert all(round_up(value) <= value * 1.34 for value in range(1, 5000))


def test_smoothing_is_a_share_of_the_whole_axis() -> None:
    assert [smoothing_length(strength, 4000.0) for strength in range(4)] == [0.0, 40.0, 150.0, 400.0]


def test_zooming_keeps_its_centre_in_place_and_stays_inside() -> None:
    assert zoomed((0.0, 100.0), 50.0, 0.5, 100.0, 1.0) == (25.0, 75.0)
    assert zoomed((0.0, 100.0), 100.0, 0.5, 100.0, 1.0) == (50.0, 100.0)
    assert zoomed((50.0, 100.0), 60.0, 4.0, 100.0, 1.0) == (0.0, 100.0)
    assert zoomed((0.0, 2.0), 1.0, 0.1, 100.0, 1.0) == (0.5, 1.5)


def test_panning_stops_at_the_ends() -> None:
    assert panned((20.0, 40.0), 0.25, 100.0) == (25.0, 45.0)
    assert panned((20.0, 40.0), -ALL, 100.0) == (0.0, 20.0)
    assert panned((20.0, 40.0), ALL, 100.0) == (80.0, 100.0)


def test_the_axis_is_the_total_until_a_run_goes_beyond_it() -> None:
    sight = Sight()
    assert (sight.fit(10.0, 4000.0), sight.extent) == (True, 4000.0)
    assert not sight.fit(3999.0, 4000.0)
    assert (sight.fit(4001.0, 4000.0), sight.extent) == (True, 5000.0)


def test_the_cursor_stands_on_columns_and_moves_by_one() -> None:
    sight = Sight(extent=1000.0, cells=50)
    for cell in range(50):
        assert sight.cell_of(sight.x_of(cell)) == cell
    sight.read(500.0)
    before = sight.cell_of(sight.cursor or 0.0)
    sight.step(-1)
    assert sight.cell_of(sight.cursor or 0.0) == before - 1


def test_the_cursor_stops_at_the_ends_of_the_whole_and_takes_a_window_along() -> None:
    sight = Sight(extent=1000.0, cells=50)
    sight.read(1000.0)
    sight.step(1)
    assert sight.cursor == pytest.approx(1000.0)
    sight.zoom = (400.0, 600.0)
    sight.cursor = sight.x_of(49)
    sight.step(1)
    assert sight.window == (450.0, 650.0)
    assert sight.cursor > 600.0


def test_zooming_out_to_the_whole_is_no_zoom() -> None:
    sight = Sight(extent=1000.0, cells=50)
    sight.magnify(0.5, 1000.0)
    assert sight.zoom == (500.0, 1000.0)
    sight.magnify(2.0, 1000.0)
    assert sight.zoom is None
