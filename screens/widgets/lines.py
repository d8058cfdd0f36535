"""Rows of styled text that send only the cells that changed."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget


class Lines(Widget):
    """One row of text a line, cut at the widget's width. Styles in the rows may name theme variables such as `$muted`."""

    DEFAULT_CSS = """
    Lines { height: auto; width: 1fr; }
    """

    def __init__(self, rows: Sequence[Content | str] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows = [as_content(row) for row in rows]

    @property
    def rows(self) -> list[Content]:
        return list(self._rows)

    @property
    def plain(self) -> str:
        """The text without styles, a row a line."""
        return "\n".join(row.plain for row in self._rows)

    def show(self, rows: Sequence[Content | str]) -> None:
        """Replace the rows and repaint what differs."""
        old, self._rows = self._rows, [as_content(row) for row in rows]
        if len(old) != len(self._rows):
            self.refresh(layout=self.styles.auto_dimensions)
            return
        regions = [
            Region(start, y, end - start, 1)
            for y, (before, after) in enumerate(zip(old, self._rows, strict=True))
            for start, end in [changed_span(before, after, self.content_size.width)]
            if end > start
        ]
        if regions:
            self.refresh(*regions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        style = self.visual_style
        if y >= len(self._rows):
            return Strip.blank(width, style.rich_style)
        row = self._rows[y].truncate(width, ellipsis=True, pad=True)
        strips = Visual.to_strips(self, row, width, 1, style)
        return strips[0].adjust_cell_length(width, style.rich_style) if strips else Strip.blank(width, style.rich_style)


def as_content(row: Content | str) -> Content:
    """Plain text taken as it is, without markup."""
    return row if isinstance(row, Content) else Content(row)


def changed_span(before: Content, after: Content, width: int) -> tuple[int, int]:
    """First changed column and the one after the last; the whole row when styles moved or a sign is wider than a cell."""
    old, new = before.plain, after.plain
    if before.spans != after.spans or after.cell_length != len(new) or before.cell_length != len(old):
        return (0, width) if old != new or before.spans != after.spans else (0, 0)
    length = max(len(old), len(new))
    old, new = old.ljust(length), new.ljust(length)
    changed = [place for place in range(length) if old[place] != new[place]]
    return (changed[0], min(changed[-1] + 1, width)) if changed else (0, 0)
