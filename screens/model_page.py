"""A page over the Models screen: one list with keys of its own, `escape` leads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.events import Resize

from screens.row_keys import MovesRows
from screens.submitting import Submitting
from screens.widgets.bars import TopBar
from screens.widgets.row_view import RowView

if TYPE_CHECKING:
    from explorer.schemas.jobs import JobSummary


class ModelPage(MovesRows, Submitting):
    """Its `RowView` has the ID `rows`. A job of the Models screen that is opened meanwhile takes the page's place."""

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, TopBar):
                widget.section = "models"
            yield widget

    @property
    def rows(self) -> RowView[Any]:
        """The list of the page."""
        found: RowView[Any] = self.query_one("#rows", RowView)
        return found

    @property
    def filled(self) -> bool:
        """Whether the list has a row; for `when` of actions."""
        return self.is_mounted and self.rows.selected is not None

    def show_job(self, job: JobSummary) -> None:
        """Show another job in this page's place."""
        from screens.model_result import ResultPage

        self.app.switch_screen(ResultPage(job))

    def open_source(self, source: str) -> None:
        """Describe another model on the screen below."""
        from screens.models import ModelsScreen

        self.app.pop_screen()
        if isinstance(self.app.screen, ModelsScreen):
            self.app.screen.open_source(source)

    def draw(self) -> None:
        """Lay everything out for the room that there is."""

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self.draw)

    def on_row_view_selected(self, event: RowView.Selected) -> None:
        self.draw_selected()
        self.refresh_bindings()

    def draw_selected(self) -> None:
        """Show what belongs to the selected row."""

    def action_first(self) -> None:
        self.rows.select_place(0)

    def action_last(self) -> None:
        self.rows.select_place(len(self.rows.items) - 1)

    def action_back(self) -> None:
        self.app.pop_screen()
