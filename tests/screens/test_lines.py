"""Rows that repaint only what changed, and the selection of a row list."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from screens.widgets.history import History
from screens.widgets.lines import changed_span
from screens.widgets.row_list import Row, RowList
from tests.screens.helpers import WidgetApp, screen_text


def test_the_span_is_from_the_first_to_the_last_changed_cell() -> None:
    assert changed_span(Content("loss  0.51"), Content("loss  0.42"), 80) == (8, 10)
    assert changed_span(Content("same"), Content("same"), 80) == (0, 0)
    assert changed_span(Content("short"), Content("shorter"), 80) == (5, 7)


def test_a_change_of_style_or_a_wide_sign_repaints_the_row() -> None:
    assert changed_span(Content("a"), Content.assemble(("a", "bold")), 80) == (0, 80)
    assert changed_span(Content("汉 1"), Content("汉 2"), 80) == (0, 80)


class Listing(WidgetApp[None]):
    """A row list alone."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield RowList()


async def test_selection_skips_headings_stops_at_the_ends_and_stays_by_key() -> None:
    app = Listing()
    async with app.run_test(size=(40, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.fill([Row("h", "HEAD", heading=True), Row("a", "first"), Row("b", "second")])
        await pilot.pause()
        assert rows.selected == "a"
        rows.move(1)
        rows.move(1)
        assert rows.selected == "b"
        rows.fill([Row("c", "new"), Row("b", "second again")])
        await pilot.pause()
        assert "▸ second again" in screen_text(pilot)
        rows.fill([Row("c", "new")])
        assert rows.selected == "c"


async def test_the_selected_row_scrolls_into_view() -> None:
    app = Listing()
    async with app.run_test(size=(40, 5)) as pilot:
        rows = app.query_one(RowList)
        rows.fill([Row(str(number), f"row {number}") for number in range(50)])
        await pilot.pause()
        rows.move(30)
        await pilot.pause()
        assert "▸ row 30" in screen_text(pilot)


class Histories(WidgetApp[None]):
    """A history alone."""

    def compose(self) -> ComposeResult:
        yield History("CPU")


async def test_history_ends_at_the_right_edge_and_a_missing_sample_is_a_gap() -> None:
    app = Histories()
    async with app.run_test(size=(10, 3)) as pilot:
        history = app.query_one(History)
        for share in (1.0, 1.0, None, None, 1.0, 1.0):
            history.add(share, "100 %")
        await pilot.pause()
        top, first, _ = (screen_text(pilot) + "\n").split("\n")[:3]
        assert top == "CPU  100 %"
        assert first == "       ⣿ ⣿"
