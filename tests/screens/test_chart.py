"""The chart: values to dots, few cells a change, gaps for NaN, a fixed extent that doubles."""

import math
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from screens.widgets.braille import Dots, sign
from screens.widgets.chart import LABEL_WIDTH, Chart, changed_cells, round_range
from screens.widgets.series import BUCKETS, Series
from tests.screens.helpers import WidgetApp, screen_text

# A cell's worth of braille: (dots, character).
CELLS = [([(0, 0)], "⠁"), ([(1, 0)], "⠈"), ([(0, 3), (1, 3)], "⣀"), ([(x, y) for x in (0, 1) for y in range(4)], "⣿")]


@pytest.mark.parametrize(("dots", "shown"), CELLS)
def test_dots_become_braille(dots: list[tuple[int, int]], shown: str) -> None:
    canvas = Dots(1, 1)
    for x, y in dots:
        canvas.dot(x, y)
    assert sign(canvas.cells[0][0], ascii_only=False) == shown


def test_without_utf8_halves_of_a_cell_remain_and_a_second_curve_differs() -> None:
    upper, lower = Dots(1, 1), Dots(1, 1)
    upper.dot(0, 0)
    lower.dot(0, 3)
    assert [sign(item.cells[0][0], True) for item in (upper, lower)] == ["'", "."]
    assert sign(upper.cells[0][0], True, second=True) == "o"


def test_a_line_is_continuous_and_a_dotted_one_is_not() -> None:
    solid, dotted = Dots(4, 1), Dots(4, 1)
    solid.line((0, 3), (7, 3))
    dotted.line((0, 3), (7, 3), dotted=True)
    assert [sign(mask, False) for mask in solid.cells[0]] == ["⣀"] * 4
    assert [sign(mask, False) for mask in dotted.cells[0]] == ["⣀", " ", "⣀", " "]


def test_dots_outside_are_nothing() -> None:
    canvas = Dots(1, 1)
    canvas.dot(-1, 0)
    canvas.dot(2, 4)
    assert canvas.cells[0][0] == 0


def test_round_ranges_hold_the_values_and_keep_what_is_fixed() -> None:
    assert round_range(0.04, 2.31) == (0.0, 2.5)
    assert round_range(0.0, 1.0, True, True) == (0.0, 1.0)
    low, high = round_range(5.0, 5.0)
    assert low <= 5.0 < high


def test_only_changed_spans_are_named() -> None:
    old = [[("a", ""), ("b", ""), ("c", "")], [("d", ""), ("e", ""), ("f", "")]]
    new = [[("a", ""), ("b", ""), ("c", "")], [("d", ""), ("X", ""), ("f", "")]]
    assert changed_cells(old, new) == [(1, 1, 2)]
    assert changed_cells([], new) == [(0, 0, 3), (1, 0, 3)]


def test_a_series_keeps_extremes_in_constant_memory() -> None:
    series = Series("train")
    for step in range(100_000):
        series.add(step, 500.0 if step == 77_777 else 1.0, 100_000)
    assert len(series.buckets) <= BUCKETS
    assert series.high == 500.0
    assert max(bucket.high for bucket in series.buckets.values()) == 500.0


def test_doubling_the_extent_keeps_extremes_and_order() -> None:
    series = Series("train")
    for step in range(100):
        series.add(step, float(step % 10), 100)
    series.rescale(200)
    assert max(series.buckets) < BUCKETS / 2
    assert max(bucket.high for bucket in series.buckets.values()) == 9.0
    assert [series.buckets[place].x for place in sorted(series.buckets)] == sorted(bucket.x for bucket in series.buckets.values())


def test_nan_leaves_a_gap() -> None:
    series = Series("train")
    for step, value in enumerate([1.0, math.nan, 2.0]):
        series.add(step, value, 3)
    assert [bucket.gap for bucket in series.buckets.values()] == [False, True]
    assert math.isfinite(series.high)


class OneChart(WidgetApp[None]):
    """A chart alone."""

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self.chart = chart

    def compose(self) -> ComposeResult:
        yield self.chart


def a_chart(**fields: Any) -> Chart:
    return Chart("loss", [Series("train"), Series("val", dotted=True, style="$warning")], **fields)


async def test_a_new_point_refreshes_a_few_cells_only() -> None:
    app = OneChart(a_chart(extent=1000, floor=0.0, ceiling=1.0))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.extend("train", range(0, 500, 10), [0.5] * 50)
        await pilot.pause()
        refreshed = refreshes_of(app.chart)
        app.chart.extend("train", [510], [0.5])
        cells = [region for region in refreshed if region.y > 0]
        assert cells
        assert sum(region.area for region in cells) <= 4


async def test_an_unchanged_chart_refreshes_nothing() -> None:
    app = OneChart(a_chart(extent=1000))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.extend("train", [1, 2], [0.5, 0.4])
        await pilot.pause()
        refreshed = refreshes_of(app.chart)
        app.chart.update_cells()
        assert refreshed == []


async def test_the_x_axis_is_the_whole_run_and_doubles_when_outgrown() -> None:
    app = OneChart(a_chart(extent=100))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.extend("train", [50], [1.0])
        await pilot.pause()
        assert screen_text(pilot).splitlines()[-1].endswith("100")
        app.chart.extend("train", [150], [2.0])
        await pilot.pause()
        assert app.chart.extent == 200
        assert screen_text(pilot).splitlines()[-1].endswith("200")


async def test_saying_the_length_later_moves_the_points() -> None:
    app = OneChart(a_chart(extent=100, floor=0.0, ceiling=1.0))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.extend("train", [0, 100], [1.0, 1.0])
        app.chart.set_extent(400)
        await pilot.pause()
        row = screen_text(pilot).splitlines()[1]
        assert row[LABEL_WIDTH:].strip()
        assert len(row.rstrip()) < LABEL_WIDTH + 73 / 4 + 2


async def test_legend_names_each_curve_with_its_own_mark_and_last_value(pilot_chart: Pilot[None]) -> None:
    top = screen_text(pilot_chart).splitlines()[0]
    assert "─ train 0.25" in top
    assert "┄ val 0.5" in top


async def test_labels_of_the_y_axis_are_its_ends(pilot_chart: Pilot[None]) -> None:
    rows = screen_text(pilot_chart).splitlines()
    assert rows[1].split()[0] == "1"
    assert rows[-2].split()[0] == "0"


@pytest.fixture
async def pilot_chart() -> Any:
    chart = a_chart(extent=100, floor=0.0, ceiling=1.0)
    app = OneChart(chart)
    async with app.run_test(size=(80, 24)) as pilot:
        chart.extend("train", [10, 20], [0.5, 0.25])
        chart.extend("val", [10, 20], [0.75, 0.5])
        await pilot.pause()
        yield pilot


async def test_a_locale_without_utf8_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    app = OneChart(a_chart(extent=100))
    async with app.run_test(size=(80, 24)) as pilot:
        app.chart.extend("train", [10, 90], [0.5, 0.25])
        await pilot.pause()
        assert screen_text(pilot).isascii()


async def test_a_tiny_chart_does_not_crash() -> None:
    app = OneChart(a_chart())
    async with app.run_test(size=(5, 2)) as pilot:
        app.chart.extend("train", [1], [1.0])
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        assert "loss" in screen_text(pilot)


def refreshes_of(chart: Chart) -> list[Region]:
    """Regions that the chart asks to repaint from now on."""
    found: list[Region] = []
    original = chart.refresh

    def refresh(*regions: Region, **options: Any) -> Any:
        found.extend(regions or [chart.region])
        return original(*regions, **options)

    chart.refresh = refresh  # type: ignore[method-assign]
    return found
