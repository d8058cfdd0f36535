"""One panel of curves in braille that sends only the cells that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.segment import Segment
from textual.content import Content
from textual.events import Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from screens.text import ascii_only
from screens.widgets.braille import Dots
from screens.widgets.lines import changed_span
from screens.widgets.metrics import tick_text, value_text
from screens.widgets.plot_cells import Cell, Drawn, Frame, Look, changed_cells, composed, draw_trace
from screens.widgets.points import Points
from screens.widgets.scales import Window, log_range, round_range
from screens.widgets.trace import Trace, View

LABEL_WIDTH = 8
EMPTY_VIEW = View(0.0, 1.0, 1)


@dataclass
class PlotCurve:
    """A curve of a panel: `metric` gives the unit; a faint one lies behind the others and is never smoothed nor in the legend."""

    metric: str
    label: str
    points: Points
    look: Look
    faint: bool = False
    trace: Trace = field(default_factory=lambda: Trace(EMPTY_VIEW))


@dataclass(frozen=True)
class PlotView:
    """What part of the axis is drawn and how; `ticks` are the words below at the left, the middle and the right."""

    window: Window = (0.0, 1.0)
    tau: float = 0.0
    log: bool = False
    cursor: float | None = None
    axis: str = "step"
    ticks: tuple[str, str, str] = ("", "", "")


class Plot(Widget):
    """Curves under a title with a legend of their latest values. `floor` and `ceiling` fix the ends of a linear y axis."""

    DEFAULT_CSS = """
    Plot { height: 1fr; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.plot_title = ""
        self.curves: list[PlotCurve] = []
        self.floor: float | None = None
        self.ceiling: float | None = None
        self.shows_axis = True
        self.view = PlotView()
        self._ascii = ascii_only()
        self._range: Window = (0.0, 1.0)
        self._dots: dict[int, tuple[tuple[object, ...], Dots]] = {}
        self._frame = Frame(0, 0, (0.0, 1.0))
        self._cells: list[list[Cell]] = []
        self._top = Content("")

    def fill(self, title: str, curves: Sequence[PlotCurve], floor: float | None = None, ceiling: float | None = None) -> None:
        """Draw these curves from now on; those that were here keep what is laid out already."""
        before = {(curve.metric, id(curve.points), curve.faint): curve.trace for curve in self.curves}
        for curve in curves:
            curve.trace = before.get((curve.metric, id(curve.points), curve.faint), curve.trace)
        self.plot_title, self.curves, self.floor, self.ceiling = title, list(curves), floor, ceiling
        self._dots.clear()
        self.redraw()

    def set_cursor(self, cursor: float | None) -> None:
        """Move the cursor along the axis."""
        self.view = replace(self.view, cursor=cursor)
        self.update_cells()

    def update_cells(self, legend: bool = True) -> None:
        """Draw again and refresh the changed spans of each row; without `legend` its values stay as they are for now."""
        if not self._drawable:
            return
        if self._take():
            self._draw()
            self._top = self._top_row(self.content_size.width)
            self.refresh()
            return
        before = self._cells
        self._draw()
        spans = changed_cells(before, self._cells)
        if spans:
            self.refresh(*(Region(LABEL_WIDTH + start, 1 + y, end - start, 1) for y, start, end in spans))
        if legend:
            self.update_legend()

    def update_legend(self) -> None:
        """Write the latest values."""
        if self._drawable:
            before, self._top = self._top, self._top_row(self.content_size.width)
            start, end = changed_span(before, self._top, self.content_size.width)
            if end > start:
                self.refresh(Region(start, 0, end - start, 1))

    def redraw(self) -> None:
        """Draw and repaint everything."""
        if self._drawable:
            self._take()
            self._draw()
            self._top = self._top_row(self.content_size.width)
        self.refresh()

    def on_resize(self, event: Resize) -> None:
        self.redraw()

    @property
    def plot_size(self) -> tuple[int, int]:
        """Width and height of the area of the curves, in cells."""
        width, height = self.content_size
        return max(1, width - LABEL_WIDTH), max(1, height - 1 - self.shows_axis)

    @property
    def cursor_column(self) -> int | None:
        """The column of cells in which the cursor stands; None without, or outside."""
        start, stop = self.view.window
        if self.view.cursor is None or not start <= self.view.cursor <= stop:
            return None
        return self._view().column(self.view.cursor) // 2

    def render_line(self, y: int) -> Strip:
        width, height = self.content_size
        if y == 0:
            return self._strip(self._top, width)
        if self.shows_axis and y == height - 1:
            return self._strip(self._axis_row(), width)
        return self._plot_row(y - 1, width)

    @property
    def _drawable(self) -> bool:
        return self.is_mounted and self.content_size.height >= 2 and self.content_size.width > LABEL_WIDTH

    def _view(self, faint: bool = False) -> View:
        start, stop = self.view.window
        return View(start, stop, self.plot_size[0] * 2, 0.0 if faint else self.view.tau, self.view.log)

    def _take(self) -> bool:
        """Lay new points into columns; says whether the y axis moved."""
        for curve in self.curves:
            curve.trace.take(curve.points, self._view(curve.faint))
        traces = [curve.trace for curve in self.curves if curve.trace.columns]
        low, high = min((item.low for item in traces), default=0.0), max((item.high for item in traces), default=1.0)
        wanted = log_range(low, high) if self.view.log else self._linear(low, high)
        moved, self._range = wanted != self._range, wanted
        return moved

    def _linear(self, low: float, high: float) -> Window:
        keep_low = self.floor is not None and low >= self.floor
        keep_high = self.ceiling is not None and high <= self.ceiling
        bottom = self.floor if keep_low and self.floor is not None else low
        top = self.ceiling if keep_high and self.ceiling is not None else high
        return round_range(bottom, top, keep_low, keep_high)

    def _draw(self) -> None:
        """Make the cells again, from the first column that changed when all else is as it was."""
        width, height = self.plot_size
        frame = Frame(width, height, self._range, self.cursor_column, self._ascii)
        order = sorted(enumerate(self.curves), key=lambda item: item[1].faint)  # what lies on top comes first
        since = [self._update_dots(place, curve, frame) for place, curve in order]
        drawn = [Drawn(self._dots[place][1], curve.look, curve.trace, curve.faint) for place, curve in order]
        if frame != self._frame or len(self._cells) != height:
            self._cells = composed(drawn, frame)
        elif since and min(since) < width:
            self._cells = composed(drawn, frame, self._cells, min(since))
        self._frame = frame

    def _update_dots(self, place: int, curve: PlotCurve, frame: Frame) -> int:
        """Draw what is new of a curve; gives the first column of cells that it changed, the width for none."""
        key = (id(curve.trace), curve.trace.begun, frame.width, frame.height, frame.scale)
        known = self._dots.get(place)
        if known is None or known[0] != key:
            dots = Dots(frame.width, frame.height)
            self._dots[place] = (key, dots)
            draw_trace(curve.trace, curve.look.dotted, dots, frame.scale)
            return 0
        if curve.trace.changed is None:
            return frame.width
        return draw_trace(curve.trace, curve.look.dotted, known[1], frame.scale, curve.trace.changed) // 2

    def _strip(self, row: Content, width: int) -> Strip:
        style = self.visual_style
        strips = Visual.to_strips(self, row.truncate(width, pad=True), width, 1, style)
        return strips[0].adjust_cell_length(width, style.rich_style) if strips else Strip.blank(width, style.rich_style)

    def _plot_row(self, y: int, width: int) -> Strip:
        base = self.visual_style
        label = f"{self._label(y):>{LABEL_WIDTH - 1}} "
        segments = [Segment(label, (base + self._get_style("$muted")).rich_style)]
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
        last = self.plot_size[1] - 1
        middle = last // 2 if last >= 6 and last % 2 == 0 else -1
        values = {last: low, 0: high} | ({middle: (low + high) / 2} if middle > 0 else {})
        if y not in values or not self.curves:
            return ""
        value = float(f"{10.0 ** values[y]:.2g}") if self.view.log else values[y]
        return tick_text(self.curves[0].metric, value)[: LABEL_WIDTH - 1]

    def _top_row(self, width: int) -> Content:
        left_out = sum(curve.trace.left_out for curve in self.curves if not curve.faint)
        note = f"  {left_out:,} not above 0 left out" if left_out else ""
        room = width - len(self.plot_title) - len(note) - 2
        legends = [self._legend(form) for form in ("full", "values", "main", "marks")]
        legend = next((item for item in legends if item.cell_length <= room), legends[-1])
        gap = max(1, width - len(self.plot_title) - len(note) - legend.cell_length)
        return Content.assemble((self.plot_title, "bold"), (note, "$muted"), " " * gap, legend)

    def _legend(self, form: str) -> Content:
        parts: list[str | tuple[str, str]] = []
        solid = any(not curve.look.dotted for curve in self.curves)
        for curve in self.curves:
            if form == "main" and curve.look.dotted and solid:
                continue
            if not curve.faint and curve.points.last is not None:
                label = f" {curve.label}" if form == "full" and curve.label else ""
                value = f" {value_text(curve.metric, curve.points.last):<7}" if form != "marks" else ""
                parts += [(curve.look.mark(self._ascii), f"bold {curve.look.style}"), label + value, "  "]
        return Content.assemble(*parts[:-1])

    def _axis_row(self) -> Content:
        plot = self.plot_size[0]
        left, middle, right = self.view.ticks
        text = left + middle.rjust(plot // 2 + len(middle) // 2 - len(left))
        name = f"{self.view.axis:>{LABEL_WIDTH - 1}} "
        return Content.assemble((name + text + right.rjust(max(1, plot - len(text))), "$muted"))
