"""One panel: which characters stand for which curves, and how few cells a new point costs."""

import math
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.geometry import Region

from screens.widgets.braille import Dots, sign
from screens.widgets.plot import Plot, PlotCurve, PlotView
from screens.widgets.plot_cells import Drawn, Frame, Look, changed_cells, composed, draw_trace
from screens.widgets.points import Points
from screens.widgets.trace import Trace, View
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


FRAME = Frame(40, 5, (0.0, 1.0))
FLAT = Points([0.0, 100.0], [0.5, 0.5])


def drawn(points: Points, look: Look, faint: bool = False) -> Drawn:
    view = View(0.0, 100.0, FRAME.width * 2)
    trace, dots = Trace(view), Dots(FRAME.width, FRAME.height)
    trace.take(points, view)
    draw_trace(trace, look.dotted, dots, FRAME.scale)
    return Drawn(dots, look, trace, faint)


def text_of(*curves: Drawn, **fields: Any) -> list[str]:
    frame = Frame(FRAME.width, FRAME.height, FRAME.scale, **fields)
    return ["".join(cell[0] for cell in row) for row in composed(curves, frame)]


def test_several_curves_carry_their_letters_without_colour() -> None:
    shown = "".join(text_of(drawn(FLAT, Look("A", place=0)), drawn(Points([0.0, 100.0], [0.9, 0.1]), Look("B", place=1))))
    assert {"A", "B"} <= set(shown)
    held_out = "".join(text_of(drawn(FLAT, Look("A")), drawn(Points([0.0, 100.0], [0.9, 0.8]), Look("A", dotted=True))))
    assert {"A", "a"} <= set(held_out)


def test_a_letter_stays_where_it_is_while_the_curve_grows() -> None:
    half, whole = Points([0.0, 50.0], [0.5, 0.5]), Points([0.0, 50.0, 100.0], [0.5, 0.5, 0.5])
    other = drawn(Points([0.0], [0.1]), Look("B", place=1))
    first, second = (text_of(drawn(points, Look("A")), other)[2] for points in (half, whole))
    assert second.startswith(first.rstrip()[:-1])
    assert first.index("A") == second.index("A")


def test_without_utf8_each_curve_is_written_in_its_letter() -> None:
    rows = text_of(drawn(FLAT, Look("A")), drawn(Points([0.0, 100.0], [0.9, 0.9]), Look("B", place=1)), ascii_only=True)
    assert rows[2] == "A" * 40
    assert set("".join(rows)) == {"A", "B", " "}


def test_a_faint_curve_shows_only_where_no_other_is() -> None:
    cells = composed([drawn(FLAT, Look()), drawn(Points([0.0, 50.0, 100.0], [0.5, 0.1, 0.5]), Look(), faint=True)], FRAME)
    styles = {y: {style for sign_, style in row if sign_ != " "} for y, row in enumerate(cells)}
    assert styles[2] == {"$primary"}
    assert styles[4] == {"$faint"}


def test_the_cursor_is_a_line_through_empty_cells_and_reverses_the_curve() -> None:
    cells = composed([drawn(FLAT, Look())], Frame(40, 5, (0.0, 1.0), cursor=7))
    assert [row[7][0] for row in cells] == ["│", "│", cells[2][6][0], "│", "│"]
    assert "reverse" in cells[2][7][1]


def test_cells_made_again_from_a_column_on_are_the_same() -> None:
    curves = [
        drawn(Points([float(x) for x in range(101)], [math.sin(x / 9) ** 2 for x in range(101)]), Look("A")),
        drawn(FLAT, Look("B")),
    ]
    whole = composed(curves, FRAME)
    assert composed(curves, FRAME, whole, 17) == whole


def test_changed_spans_far_apart_stay_apart() -> None:
    old = [[(" ", "")] * 40]
    new = [[("x", "") if place in (2, 4, 30) else (" ", "") for place in range(40)]]
    assert changed_cells(old, new) == [(0, 2, 5), (0, 30, 31)]
    assert changed_cells([], new) == [(0, 0, 40)]
    assert changed_cells(new, new) == []


class OnePlot(WidgetApp[None]):
    """A plot alone, of one curve over 0..1000."""

    def __init__(self, metric: str = "loss", **view: Any) -> None:
        super().__init__()
        self.points = Points()
        self.plot = Plot()
        self.curve = PlotCurve(metric, "train", self.points, Look())
        self.view = PlotView(window=(0.0, 1000.0), ticks=("0", "500", "1,000"), **view)

    def compose(self) -> ComposeResult:
        yield self.plot

    def grow(self, *points: tuple[float, float]) -> None:
        for x, y in points:
            self.points.add(x, y)
        self.plot.update_cells()

    def on_mount(self) -> None:
        self.plot.view = self.view
        self.plot.fill("loss", [self.curve], floor=0.0, ceiling=1.0)


async def test_a_new_point_refreshes_a_few_cells_only() -> None:
    app = OnePlot()
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow(*((step, 0.5) for step in range(0, 500, 10)))
        await pilot.pause()
        refreshed = refreshes_of(app.plot)
        app.grow((510, 0.5))
        cells = [region for region in refreshed if region.y > 0]
        assert cells
        assert sum(region.area for region in cells) <= 4


async def test_an_unchanged_plot_refreshes_nothing() -> None:
    app = OnePlot()
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow((1, 0.5), (2, 0.4))
        await pilot.pause()
        refreshed = refreshes_of(app.plot)
        app.plot.update_cells()
        assert refreshed == []


async def test_title_legend_and_both_axes_are_words() -> None:
    app = OnePlot()
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow((10, 0.5), (20, 0.25))
        await pilot.pause()
        rows = screen_text(pilot).splitlines()
        assert rows[0].startswith("loss")
        assert "─ train 0.25" in rows[0]
        assert (rows[1].split()[0], rows[-2].split()[0]) == ("1", "0")
        assert rows[-1].split() == ["step", "0", "500", "1,000"]


async def test_values_that_a_logarithm_leaves_out_are_said() -> None:
    app = OnePlot(log=True)
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow((10, 0.01), (20, 0.0), (30, 1.0))
        await pilot.pause()
        assert "1 not above 0 left out" in screen_text(pilot)
        rows = screen_text(pilot).splitlines()
        assert (rows[1].split()[0], rows[-2].split()[0]) == ("1", "0.01")


async def test_units_stand_at_the_axis_and_in_the_legend() -> None:
    app = OnePlot("rss_bytes")
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow((10, 400 * 2**20))
        await pilot.pause()
        assert "400 MiB" in screen_text(pilot).splitlines()[0]


async def test_a_locale_without_utf8_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    app = OnePlot(cursor=500.0)
    async with app.run_test(size=(80, 24)) as pilot:
        app.grow((10, 0.5), (900, 0.25))
        await pilot.pause()
        assert screen_text(pilot).isascii()


async def test_a_tiny_plot_does_not_crash() -> None:
    app = OnePlot()
    async with app.run_test(size=(5, 2)) as pilot:
        app.grow((1, 1.0))
        await pilot.resize_terminal(40, 10)
        await pilot.pause()
        assert "loss" in screen_text(pilot)


def refreshes_of(plot: Plot) -> list[Region]:
    """Regions that the plot asks to repaint from now on."""
    found: list[Region] = []
    original = plot.refresh

    def refresh(*regions: Region, **options: Any) -> Any:
        found.extend(regions or [plot.region])
        return original(*regions, **options)

    plot.refresh = refresh  # type: ignore[method-assign]
    return found
