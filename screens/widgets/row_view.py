"""A long list with one selected row, drawn row by row as it scrolls into view; 20,000 rows cost as much as twenty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from screens.widgets.lines import changed_span

T = TypeVar("T")


class RowView(ScrollView, Generic[T], can_focus=False, inherit_bindings=False):
    """Rows of `draw(item, width)`; `key(item)` names a row over updates. The screen's own keys move the selection."""

    DEFAULT_CSS = """
    RowView { height: 1fr; width: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """

    @dataclass
    class Selected(Message):
        """Another row is selected, or none is left."""

        view: RowView[Any]

        @property
        def control(self) -> RowView[Any]:
            return self.view

    def __init__(self, key: Callable[[T], str], draw: Callable[[T, int], Content], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._key = key
        self._draw_item = draw
        self._items: list[T] = []
        self._place = 0
        self._drawn: dict[int, Content] = {}

    @property
    def items(self) -> list[T]:
        return list(self._items)

    @property
    def selected(self) -> T | None:
        return self._items[self._place] if self._items else None

    @property
    def selected_key(self) -> str:
        """The key of the selected row; empty without rows."""
        return self._key(self._items[self._place]) if self._items else ""

    def fill(self, items: Sequence[T]) -> None:
        """Show these rows; the selection stays on its key, else on its place."""
        wanted = self.selected_key
        self._items = list(items)
        found = next((place for place, item in enumerate(self._items) if self._key(item) == wanted), self._place)
        self._place = max(0, min(found, len(self._items) - 1))
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._items))
        self.redraw()
        if self.selected_key != wanted:
            self.post_message(self.Selected(self))

    def select(self, key: str) -> None:
        """Select the row of this key, if there is one."""
        place = next((place for place, item in enumerate(self._items) if self._key(item) == key), None)
        if place is not None:
            self.select_place(place)

    def select_place(self, place: int) -> None:
        """Select a row by its place, stopping at the ends, and bring it into view."""
        place = max(0, min(place, len(self._items) - 1))
        moved, self._place = place != self._place, place
        self.scroll_to_region(Region(0, place, 1, 1), animate=False, force=True, immediate=True)
        self.redraw()
        if moved:
            self.post_message(self.Selected(self))

    def move(self, by: int) -> None:
        """Select the row `by` further down."""
        self.select_place(self._place + by)

    def move_page(self, by: int) -> None:
        """Select the row `by` screenfuls further down."""
        self.move(by * max(1, self.size.height - 1))

    def redraw(self) -> None:
        """Repaint the cells in view that differ."""
        regions = []
        for y in range(self.size.height):
            before, after = self._drawn.get(y), self._content(y)
            start, end = (0, self.size.width) if before is None else changed_span(before, after, self.size.width)
            if end > start:
                regions.append(Region(start, y, end - start, 1))
        if regions:
            self.refresh(*regions)

    def on_resize(self, event: Resize) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._items))
        if self._items:
            self.scroll_to_region(Region(0, self._place, 1, 1), animate=False, force=True, immediate=True)
        self.refresh()

    def on_click(self, event: Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < len(self._items):
            self.select_place(place)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        content = self._drawn[y] = self._content(y)
        strips = Visual.to_strips(self, content.truncate(width, ellipsis=True), width, 1, self.visual_style, pad=True)
        return strips[0].adjust_cell_length(width, self.visual_style.rich_style)

    def _content(self, y: int) -> Content:
        place = y + self.scroll_offset.y
        if place >= len(self._items):
            return Content("")
        width = self.scrollable_content_region.width
        content = self._draw_item(self._items[place], max(0, width - 2))
        if place != self._place:
            return Content.assemble("  ", content)
        row = Content.assemble(("▸ ", "$primary"), content)
        return row.pad_right(max(0, width - row.cell_length)).stylize_before("bold on $boost")
