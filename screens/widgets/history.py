"""The last minutes of a live value as a filled braille area, one dot column a sample."""

from collections import deque
from collections.abc import Iterable

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from screens.text import NONE, ascii_only
from screens.widgets.braille import Dots, sign
from screens.widgets.lines import changed_span

KEPT = 600


class History(Widget):
    """A title with the present value, and below it the past up to now at the right edge. A missing sample stays a gap."""

    DEFAULT_CSS = """
    History { height: 1fr; width: 1fr; min-height: 2; }
    """

    def __init__(self, title: str, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.chart_title = title
        self._shares: deque[float | None] = deque(maxlen=KEPT)
        self._now = Content.assemble((title, "bold"), "  ", (NONE, "$muted"))
        self._rows: list[str] = []
        self._ascii = ascii_only()

    def add(self, share: float | None, text: str) -> None:
        """One sample: its share 0..1 of the full height, None when it could not be read, and the words beside the title."""
        self._shares.append(share)
        self._change(text)

    def replace(self, title: str, shares: Iterable[float | None], text: str) -> None:
        """Show another past, oldest first, under another title."""
        self.chart_title = title
        self._shares = deque(shares, maxlen=KEPT)
        self._change(text)

    def _change(self, text: str) -> None:
        """Draw again and repaint what differs."""
        before, self._now = self._now, Content.assemble((self.chart_title, "bold"), "  ", text)
        old, self._rows = self._rows, self._draw()
        regions = [Region(start, 0, end - start, 1) for start, end in [changed_span(before, self._now, self.content_size.width)]]
        for y, row in enumerate(self._rows):
            start, end = changed_span(Content(old[y] if y < len(old) else ""), Content(row), self.content_size.width)
            regions.append(Region(start, y + 1, end - start, 1))
        if regions := [region for region in regions if region.width > 0]:
            self.refresh(*regions)

    def on_resize(self) -> None:
        self._rows = self._draw()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        style = self.visual_style
        if y == 0:
            return Visual.to_strips(self, self._now.truncate(width, pad=True), width, 1, style)[0]
        row = self._rows[y - 1] if y <= len(self._rows) else ""
        colour = (style + self._get_style("$primary")).rich_style
        return Strip([Segment(row, colour)]).adjust_cell_length(width, style.rich_style)

    def _draw(self) -> list[str]:
        width, height = self.content_size.width, self.content_size.height - 1
        if width < 1 or height < 1:
            return []
        dots = Dots(width, height)
        shown = list(self._shares)[-width * 2 :]
        for x, share in enumerate(shown, start=width * 2 - len(shown)):
            if share is not None:
                dots.column(x, min(height * 4 - 1, round((1 - min(1.0, max(0.0, share))) * height * 4)))
        return ["".join(sign(mask, self._ascii) for mask in row) for row in dots.cells]
