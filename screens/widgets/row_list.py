"""A list with one selected row, moved by the screen's own keys; put it in a `VerticalScroll`."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.events import Resize
from textual.geometry import Region

from screens.widgets.lines import Lines, as_content


@dataclass(frozen=True)
class Row:
    """One row; `key` names it over updates, a heading cannot be selected."""

    key: str
    content: Content | str
    heading: bool = False


class RowList(Lines):
    """Rows with a mark before the selected one. `fill` replaces them and keeps the selection by key."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._items: list[Row] = []
        self.selected: str | None = None

    def fill(self, items: Sequence[Row]) -> None:
        """Show these rows; the selection stays, or goes to the first row when its row is gone."""
        self._items = list(items)
        keys = self._keys()
        if self.selected not in keys:
            self.selected = keys[0] if keys else None
        self._draw()

    def move(self, by: int) -> None:
        """Select the row `by` further down, stopping at the ends."""
        keys = self._keys()
        if not keys:
            return
        place = keys.index(self.selected) if self.selected in keys else 0
        self.select(keys[max(0, min(len(keys) - 1, place + by))])

    def select(self, key: str) -> None:
        """Select a row and bring it into view."""
        self.selected = key
        self._draw()
        y = next((place for place, item in enumerate(self._items) if item.key == key), 0)
        if self.parent is not None and hasattr(self.parent, "scroll_to_region"):
            top = 0 if y <= 1 else y  # the heading above the first row comes along
            self.parent.scroll_to_region(Region(0, top, 1, y - top + 1), animate=False, force=True)

    def on_resize(self, event: Resize) -> None:
        self._draw()

    def _keys(self) -> list[str]:
        return [item.key for item in self._items if not item.heading]

    def _draw(self) -> None:
        self.show([self._row(item) for item in self._items])

    def _row(self, item: Row) -> Content:
        content = as_content(item.content)
        if item.heading:
            return content.stylize("bold $primary")
        if item.key != self.selected:
            return Content.assemble("  ", content)
        row = Content.assemble(("▸ ", "$primary"), content)
        return row.pad_right(max(0, self.content_size.width - row.cell_length)).stylize_before("bold on $boost")
