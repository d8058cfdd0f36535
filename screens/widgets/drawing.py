"""Rows that are drawn for the room that they get."""

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.events import Resize

from screens.widgets.lines import Lines

Draw = Callable[[int, int], Sequence[Content]]


class Drawing(Lines):
    """The rows of `draw(width, height)`, drawn again when the room changes."""

    DEFAULT_CSS = """
    Drawing { height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__([], id=id)
        self._draw_rows: Draw | None = None

    def set_draw(self, draw: Draw) -> None:
        """Show another drawing."""
        self._draw_rows = draw
        self._fill()

    def on_resize(self, event: Resize) -> None:
        self._fill()

    def _fill(self) -> None:
        width, height = self.content_size
        if self._draw_rows is not None and width and height:
            self.show(self._draw_rows(width, height))
