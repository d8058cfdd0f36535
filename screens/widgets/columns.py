"""The names over the columns of a `RowView`, laid out for the same width."""

from collections.abc import Callable

from textual.content import Content
from textual.events import Resize

from screens.widgets.lines import Lines

# A RowView keeps two columns for the selection's mark and one for its scrollbar.
TAKEN = 3


class Columns(Lines):
    """One line of `draw(width)`, where `width` is what the rows below are drawn in; `override` replaces it for a while."""

    DEFAULT_CSS = """
    Columns { height: 1; }
    """

    def __init__(self, draw: Callable[[int], Content], *, id: str | None = None) -> None:
        super().__init__([""], id=id)
        self._draw_names = draw
        self._override: Content | None = None

    def override(self, line: Content | None) -> None:
        """Show another line, or the names again."""
        self._override = line
        self._show_names()

    def on_resize(self, event: Resize) -> None:
        self._show_names()

    def _show_names(self) -> None:
        self.show([self._override or Content.assemble("  ", self._draw_names(max(0, self.content_size.width - TAKEN)))])
