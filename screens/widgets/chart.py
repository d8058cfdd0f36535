"""A braille line chart over a whole run that sends only the cells that changed.

The x axis spans the whole run, so points are only ever appended and an update costs a few cells; see `Series` for its memory.
"""

import math
from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.content import Content
from textual.events import Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from screens.text import ascii_only, number, short_count
from screens.widgets.braille import Dots, sign
from screens.widgets.series import Series

LABEL_WIDTH = 7
DEFAULT_EXTENT = 100.0


class Chart(Widget):
    """Curves under a title with a legend. `extent` is the x of the right edge, `floor` and `ceiling` fix the y axis if given."""

    DEFAULT_CSS = """
    Chart { height: 1fr; min-height: 4; }
    """

    def __init__(
        self,
        title: str,
        series: Sequence[Series] = (),
        extent: float = DEFAULT_EXTENT,
        floor: float | None = None,
        ceiling: float | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.chart_title = title
        self.series: dict[str, Series] = {item.name: item for item in series}
        self.extent = extent
        self.floor = floor
        self.ceiling = ceiling
        self._ascii = ascii_only()
        self._range = (0.0, 1.0)
        self._drawn_extent = extent
        self._cells: list[list[tuple[str, str]]] = []
        self._legend = Content("")

    def reset(self, series: Iterable[Series] = (), extent: float = DEFAULT_EXTENT) -> None:
        """Begin again with other curves."""
        self.series = {item.name: item for item in series}
        self.extent = extent
        self._draw_all()

    def set_extent(self, extent: float) -> None:
        """Say how long the run will be, once that is known; points so far are put in their new places."""
        if extent != self.extent:
            self._rescale(extent)
            self._draw_all()

    def extend(self, name: str, xs: Sequence[float], ys: Sequence[float]) -> None:
        """Append points to a curve and repaint what changed; x never decreases."""
        self.add(name, xs, ys)
        self.update_cells()

    def add(self, name: str, xs: Sequence[float], ys: Sequence[float]) -> None:
        """Append points without repainting; `update_cells` follows once for many."""
        series = self.series.setdefault(name, Series(name))
        for x, y in zip(xs, ys, strict=True):
            while x > self.extent:
                self._rescale(self.extent * 2)
            series.add(x, y, self.extent)

    def update_cells(self) -> None:
        """Draw again and refresh the changed span of each row."""
        if not self.is_mounted or self.content_size.height < 3:
            return
        if self._fit_range() or self._drawn_extent != self.extent:
            self._draw_all()
            return
        old, self._cells = self._cells, self._raster()
        regions = [
            Region(LABEL_WIDTH + start, 1 + y, end - start, 1) for y, start, end in changed_cells(old, self._cells) if end > start
        ]
        legend = self._make_legend()
        if legend.plain != self._legend.plain:
            regions.append(self._legend_region(self._legend.plain, legend.plain))
            self._legend = legend
        if regions:
            self.refresh(*regions)

    def on_resize(self, event: Resize) -> None:
        self._draw_all()

    def render_line(self, y: int) -> Strip:
        width, height = self.content_size
        style = self.visual_style
        if y == 0:
            row = self._top_row(width)
        elif y == height - 1:
            row = self._bottom_row(width)
        else:
            return self._plot_row(y - 1, width)
        strips = Visual.to_strips(self, row.truncate(width, pad=True), width, 1, style)
        return strips[0] if strips else Strip.blank(width, style.rich_style)

    def _draw_all(self) -> None:
        if self.is_mounted and self.content_size.height >= 3:
            self._fit_range()
            self._cells = self._raster()
            self._legend = self._make_legend()
            self._drawn_extent = self.extent
        self.refresh()

    def _rescale(self, extent: float) -> None:
        self.extent = extent
        for item in self.series.values():
            item.rescale(extent)

    @property
    def _plot_size(self) -> tuple[int, int]:
        width, height = self.content_size
        return max(1, width - LABEL_WIDTH), max(1, height - 2)

    def _fit_range(self) -> bool:
        """Widen the y axis to round numbers when a value left it; says whether it moved."""
        lows = [item.low for item in self.series.values() if item.buckets]
        highs = [item.high for item in self.series.values() if item.buckets]
        low = min(lows, default=0.0) if self.floor is None else self.floor
        high = max(highs, default=1.0) if self.ceiling is None else self.ceiling
        wanted = round_range(low, high, self.floor is not None, self.ceiling is not None)
        moved = wanted != self._range
        self._range = wanted
        return moved

    def _raster(self) -> list[list[tuple[str, str]]]:
        """Each cell's sign and style; the first curve keeps its colour where two meet."""
        width, height = self._plot_size
        cells = [[(" ", "")] * width for _ in range(height)]
        masks = [[0] * width for _ in range(height)]
        for place, series in enumerate(self.series.values()):
            dots = Dots(width, height)
            self._draw(series, dots)
            for y, row in enumerate(dots.cells):
                for x, mask in enumerate(row):
                    if mask:
                        masks[y][x] |= mask
                        cells[y][x] = (sign(masks[y][x], self._ascii, place > 0), cells[y][x][1] or series.style)
        return cells

    def _draw(self, series: Series, dots: Dots) -> None:
        before: tuple[int, int] | None = None
        for place in sorted(series.buckets):
            bucket = series.buckets[place]
            x = round(bucket.x / self.extent * (dots.width * 2 - 1))
            first, low, high, last = (
                self._dot_row(value, dots) for value in (bucket.first, bucket.low, bucket.high, bucket.last)
            )
            if before is not None and not bucket.gap:
                dots.line(before, (x, first), series.dotted)
            dots.line((x, high), (x, low), series.dotted and before is not None)
            before = (x, last)

    def _dot_row(self, value: float, dots: Dots) -> int:
        low, high = self._range
        share = (value - low) / (high - low)
        return round((1 - min(1.0, max(0.0, share))) * (dots.height * 4 - 1))

    def _plot_row(self, y: int, width: int) -> Strip:
        base = self.visual_style
        label = self._label(y)
        segments = [Segment(f"{label:>{LABEL_WIDTH - 1}} ", (base + self._get_style("$muted")).rich_style)]
        cells = self._cells[y] if y < len(self._cells) else []
        start = 0
        for place in range(1, len(cells) + 1):
            if place == len(cells) or cells[place][1] != cells[start][1]:
                style = cells[start][1]
                text = "".join(cell[0] for cell in cells[start:place])
                segments.append(Segment(text, (base + self._get_style(style)).rich_style if style else base.rich_style))
                start = place
        return Strip(segments).adjust_cell_length(width, base.rich_style)

    def _label(self, y: int) -> str:
        low, high = self._range
        last = self._plot_size[1] - 1
        middle = last // 2 if last >= 6 and last % 2 == 0 else -1
        values = {0: high, last: low} | ({middle: (low + high) / 2} if middle > 0 else {})
        return number(values[y])[: LABEL_WIDTH - 1] if y in values else ""

    def _make_legend(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for series in self.series.values():
            if series.last is not None:
                mark = "┄" if series.dotted else "─"
                mark = mark if not self._ascii else ("o" if series.dotted else "-")
                parts += [(f"{mark} ", series.style), f"{series.name} {number(series.last):<7}", " "]
        return Content.assemble(*parts)

    def _legend_region(self, old: str, new: str) -> Region:
        width = max(len(old), len(new))
        return Region(max(0, self.content_size.width - width), 0, width, 1)

    def _top_row(self, width: int) -> Content:
        gap = max(1, width - len(self.chart_title) - self._legend.cell_length)
        return Content.assemble((self.chart_title, "bold"), " " * gap, self._legend)

    def _bottom_row(self, width: int) -> Content:
        plot = self._plot_size[0]
        left, middle, right = "0", short_count(self.extent / 2), short_count(self.extent)
        text = left + middle.rjust(plot // 2 + len(middle) // 2 - len(left))
        return Content.assemble(" " * LABEL_WIDTH, (text + right.rjust(plot - len(text)), "$muted"))


def round_range(low: float, high: float, keep_low: bool = False, keep_high: bool = False) -> tuple[float, float]:
    """The smallest range of round numbers around low..high, so that the axis moves rarely."""
    if not low < high:
        high = low + (abs(low) or 1.0)
    step = 10.0 ** math.floor(math.log10(high - low))
    step = step / 2 if (high - low) / step < 4 else step
    bottom = low if keep_low else math.floor(low / step) * step
    top = high if keep_high else math.ceil(high / step) * step
    return float(f"{bottom:.12g}"), float(f"{top:.12g}")


def changed_cells(
    old: Sequence[Sequence[tuple[str, str]]], new: Sequence[Sequence[tuple[str, str]]]
) -> list[tuple[int, int, int]]:
    """For each row that differs: its number, the first changed column and the one after the last."""
    if len(old) != len(new) or any(len(before) != len(after) for before, after in zip(old, new, strict=True)):
        return [(y, 0, len(row)) for y, row in enumerate(new)]
    spans = []
    for y, (before, after) in enumerate(zip(old, new, strict=True)):
        if before != after:
            changed = [x for x, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
            spans.append((y, changed[0], changed[-1] + 1))
    return spans
