"""A machine on the screen: the table of its parts, the page of the selected one, its past and its roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll

from screens.widgets.drawing import Drawing
from screens.widgets.history import History
from screens.widgets.lines import Lines
from screens.widgets.row_list import RowList

if TYPE_CHECKING:
    from screens.machine import Machine

# The parts whose past is drawn, with the title of the chart.
CHARTS = {"cpu": "CPU", "gpu": "GPU", "memory": "Memory"}
PADDING = 2
MARK = 2
SCROLLBAR = 1


class MachineView(Vertical):
    """Give it a machine with `show`; it repaints only the cells that differ."""

    DEFAULT_CSS = """
    MachineView { height: 1fr; }
    MachineView #parts { height: auto; max-height: 60%; padding: 0 1; scrollbar-size-vertical: 1; }
    MachineView #page { height: 1fr; border-top: solid $rule; padding: 0 1; scrollbar-size-vertical: 1; }
    MachineView #charts { height: 12; border-top: solid $rule; padding: 0 1; }
    MachineView #charts.-empty { display: none; }
    MachineView #past { width: 2fr; height: 1fr; margin: 0 2 0 0; }
    MachineView #roofline { width: 3fr; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="parts", can_focus=False):
            yield RowList()
        with VerticalScroll(id="page", can_focus=False):
            yield Lines([])
        with Horizontal(id="charts", classes="-empty"):
            yield History("", id="past")
            yield Drawing(id="roofline")

    @property
    def part(self) -> str:
        """The selected part."""
        return self.query_one(RowList).selected or "cpu"

    @property
    def can_scroll(self) -> bool:
        """Whether the page is longer than its room."""
        return self._page.max_scroll_y > 0

    def move(self, by: int) -> None:
        """Select the part `by` further down; `show` follows."""
        self.query_one(RowList).move(by)
        self._page.scroll_home(animate=False)

    def scroll_page(self, down: bool) -> None:
        """Scroll the page by its room."""
        if down:
            self._page.scroll_page_down(animate=False)
        else:
            self._page.scroll_page_up(animate=False)

    def show(self, machine: Machine) -> None:
        """Another machine, other readings, or another part."""
        self.show_now(machine)
        self._show_roofline(machine)

    def show_now(self, machine: Machine) -> None:
        """What changes with each sample."""
        from screens.hardware_pages import page
        from screens.hardware_rows import now_words, rows

        width = self.size.width - PADDING
        self.query_one(RowList).fill(rows(machine, width - MARK, self.screen.has_class("-tall")))
        self._page.query_one(Lines).show(page(machine, self.part, width - SCROLLBAR))
        past = self.query_one(History)
        past.display = self.part in CHARTS and not machine.folder
        if past.display:
            past.replace(CHARTS[self.part], machine.live.past(self.part), now_words(machine, self.part))

    @property
    def _page(self) -> VerticalScroll:
        return self.query_one("#page", VerticalScroll)

    def _show_roofline(self, machine: Machine) -> None:
        from screens.roofline_rows import roofline_rows

        found = machine.roofs(self.part) if machine.torch_device(self.part) else []
        drawing, past = self.query_one(Drawing), self.query_one(History)
        drawing.display = bool(found)
        self.query_one("#charts").set_class(not found and not past.display, "-empty")
        drawing.set_draw(lambda width, height: roofline_rows(found, width, height))
