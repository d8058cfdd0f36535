"""Charts of chosen metrics for one to eight runs: smoothing, log scale, zoom, cursor, by step or by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Mount, Resize
from textual.message import Message

from screens.widgets.board_panels import Panel, curves_of, panels_of
from screens.widgets.board_words import head_rows, notes, reading_rows, ticks
from screens.widgets.held_run import Axis, HeldRun
from screens.widgets.lines import Lines
from screens.widgets.plot import LABEL_WIDTH, Plot, PlotView
from screens.widgets.scales import STRENGTHS, Window, smoothing_length
from screens.widgets.sight import ALL, Sight

if TYPE_CHECKING:
    from explorer.schemas.curves import RunCurves

MOST_RUNS = 8
MOST_PANELS = 4
FEW_RUNS = 2  # whose values lie faintly behind the smoothed ones, and are written as they come
LEGEND_S = 1.0  # how often those of more runs are written
NARROW = 20
MOST_READINGS = 8
LOWEST_PANEL = 5
TALL_PANEL = 6
TALL = 24
BESIDE = 0.5  # how much more than the window is asked for, on each side


class Board(Vertical):
    """Panels of curves under each other. Its keys have the scope `board`; `ShowsBoard` binds them and answers `ZoomWanted`."""

    DEFAULT_CSS = """
    Board { height: 1fr; width: 1fr; }
    Board Lines { height: auto; }
    """

    @dataclass
    class ZoomWanted(Message):
        """The board wants this window (None: the whole run) of the axis in finer points than it holds; answer by `refine`."""

        board: Board
        window: Window | None
        axis: Axis

        @property
        def control(self) -> Board:
            return self.board

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.runs: list[HeldRun] = []
        self.total_steps: float | None = None
        self.axis: Axis = "step"
        self.strength = 0
        self.logarithmic = False
        self.sight = Sight()
        self._first_panel = 0
        self._panels: list[Panel] = []
        self._shown: list[Panel] = []
        self._asked: tuple[Window | None, Axis] | None = None
        self._drawn_x = 0.0
        self._told = (False, False, False)
        self._reads = False

    def compose(self) -> ComposeResult:
        yield Lines([], id="board-head")
        for place in range(MOST_PANELS):
            yield Plot(id=f"plot-{place}")
        yield Lines([], id="board-reading")

    def on_mount(self, event: Mount) -> None:
        self.set_interval(LEGEND_S, self._update_legends)

    # What comes in

    def show(self, runs: Sequence[RunCurves], total_steps: float | None = None) -> None:
        """Replace everything by these runs, whole and by step. How curves are drawn stays as it was chosen."""
        self.runs = [HeldRun.of(run) for run in runs[:MOST_RUNS]]
        self.total_steps, self._asked, self._panels = total_steps, None, []
        self.sight.reset()
        if not any(run.curves for run in runs):
            self.axis = "step"
        if self.axis == "time":
            self._want(None, "time")
        self._lay_out()

    def add(self, source: str, name: str, xs: Sequence[float], ys: Sequence[float], time: float | None = None) -> None:
        """Append points by step to a metric of a run, without repainting; `time` (Unix seconds) is when the last of them came."""
        run = self._run(source)
        if run is not None:
            run.add(name, xs, ys, time)

    def update_cells(self) -> None:
        """Repaint what changed; once after many `add`."""
        moved = self._fit_extent()
        moved |= self.sight.follow(self._drawn_x, self._last_x)
        self._drawn_x = self._last_x
        if moved or self._names() != {name for panel in self._panels for name in panel.names}:
            self._lay_out()
            return
        for plot in self._plots():
            plot.update_cells(legend=len(self.runs) <= FEW_RUNS)
        self._draw_reading()

    def rewind(self, source: str, step: float) -> None:
        """Drop what lies beyond a step, as after a resume from its checkpoint."""
        run = self._run(source)
        if run is not None:
            run.rewind(step)
            if run.axis == "time":
                self._want(None, "time")
            self.update_cells()

    def set_total(self, steps: float | None) -> None:
        """Say how many steps the runs will have."""
        if steps != self.total_steps:
            self.total_steps, self.sight.extent = steps, 0.0
            self._lay_out()

    def refine(self, runs: Sequence[RunCurves]) -> None:
        """Take the answer to the latest `ZoomWanted`."""
        if self._asked is None:
            return
        (window, axis), self._asked = self._asked, None
        if window is None and axis == "time" and not any(curve.xs for run in runs for curve in run.curves):
            self.axis = "step"
            self.notify("The log of these runs holds no times.", timeout=4)
        for answer in runs:
            run = self._run(answer.source)
            if run is not None and window is None and answer.curves:
                run.take(answer, axis)
            elif run is not None and window is not None and run.axis == axis:
                run.take_detail(answer, window)
        if window is None:
            self.sight.reset()
        self._lay_out()

    # What is shown, for screens and `when` of actions

    @property
    def panels(self) -> list[str]:
        """The keys of the panels that are drawn, from the top."""
        return [panel.key for panel in self._shown]

    @property
    def metrics(self) -> list[str]:
        """The metrics that are drawn."""
        return [name for panel in self._shown for name in panel.names]

    @property
    def sources(self) -> list[str]:
        return [run.source for run in self.runs]

    @property
    def window(self) -> Window:
        """The part of the axis that is drawn."""
        return self.sight.window

    @property
    def has_curves(self) -> bool:
        return bool(self._panels)

    @property
    def has_more_metrics(self) -> bool:
        return len(self._panels) > len(self._shown)

    @property
    def is_zoomed(self) -> bool:
        return self.sight.zoom is not None

    # What a person does

    def next_metrics(self) -> None:
        """Draw the panels after these, from the first again at the end."""
        place = self._first_panel + len(self._shown)
        self._first_panel = place if place < len(self._panels) else 0
        self._lay_out()

    def smooth(self) -> None:
        """Take the next strength of smoothing."""
        self.strength = (self.strength + 1) % len(STRENGTHS)
        self._lay_out()

    def switch_log(self) -> None:
        self.logarithmic = not self.logarithmic
        self._lay_out()

    def switch_axis(self) -> None:
        """Draw over steps, or over time, once the engine has said when each step was."""
        self.axis = "time" if self.axis == "step" else "step"
        self._want(None, self.axis)

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much, around the cursor, else up to the latest value."""
        self.sight.magnify(factor, self._last_x)
        self._lay_out()

    def whole(self) -> None:
        self.sight.whole()
        self._lay_out()

    def switch_cursor(self) -> None:
        """Read values at a place, first at the latest value; or stop reading."""
        if self.sight.cursor is None:
            self.sight.read(self._last_x)
        else:
            self.sight.cursor = None
        self._lay_out()

    def move(self, by: int) -> None:
        """Move the cursor by cells; without one, the window by a quarter, or begin to read when all is shown."""
        window = self.sight.window
        if self.sight.cursor is not None:
            self.sight.step(by)
        elif self.is_zoomed:
            self.sight.pan(by / 4)
        else:
            self.sight.read(self._last_x)
        self._draw_cursor() if window == self.sight.window and self._reads else self._lay_out()

    def go(self, end: bool) -> None:
        """Move the cursor, or without one the window, to the latest value or to the first."""
        if self.sight.cursor is None and self.is_zoomed:
            self.sight.pan(ALL if end else -ALL)
        else:
            self.sight.read(self._last_x if end else 0.0)
        self._lay_out()

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    # Drawing

    def _lay_out(self) -> None:
        """Choose the panels, give each its curves and its part of the axis."""
        if not self.is_mounted:
            return
        self.sight.cells = max(2, self.size.width - LABEL_WIDTH)
        self._fit_extent()
        self._drawn_x = self._last_x
        self._panels = panels_of(self._names(), several=len(self.runs) > 1)
        self._first_panel = self._first_panel if self._first_panel < len(self._panels) else 0
        self._shown = self._panels[self._first_panel :][: self._room()]
        with self.app.batch_update():
            self._draw_head()
            for place, plot in enumerate(self.query(Plot)):
                plot.display = place < len(self._shown)
                if plot.display:
                    self._fill(plot, self._shown[place], last=place == len(self._shown) - 1)
            self._draw_reading()
        self._ask_for_detail()
        self._tell()

    def _room(self) -> int:
        height = self.size.height
        return max(1, min(MOST_PANELS, height // TALL_PANEL) if height >= TALL else min(2, height // LOWEST_PANEL))

    def _fill(self, plot: Plot, panel: Panel, last: bool) -> None:
        window = self.window
        tau = smoothing_length(self.strength, self.sight.extent)
        faint = bool(tau) and len(self.runs) <= FEW_RUNS and self.size.height // max(1, len(self._shown)) > LOWEST_PANEL
        logarithmic = self.logarithmic and panel.ceiling is None
        plot.view = PlotView(window, tau, logarithmic, self.sight.cursor, self.axis_drawn, ticks(window, self.axis_drawn))
        plot.shows_axis = last
        plot.fill(panel.title, curves_of(panel, self.runs, window, faint), panel.floor, panel.ceiling)

    @property
    def axis_drawn(self) -> Axis:
        """The axis of what is held; another may have been asked for."""
        return self.runs[0].axis if self.runs else self.axis

    def _draw_head(self) -> None:
        tau = smoothing_length(self.strength, self.sight.extent)
        said = notes(tau, self.logarithmic, self.sight.zoom, self.axis_drawn)
        self._rows("#board-head", head_rows(self.runs, said, max(NARROW, self.size.width)))

    def _draw_cursor(self) -> None:
        for plot in self._plots():
            plot.set_cursor(self.sight.cursor)
        self._draw_reading()

    def _draw_reading(self) -> None:
        cursor, width = self.sight.cursor, max(NARROW, self.size.width)
        most = MOST_READINGS if self.size.height >= TALL else MOST_READINGS // 2
        rows = [] if cursor is None else reading_rows(self._shown, self.runs, self.window, cursor, self.axis_drawn, width, most)
        self._reads = bool(rows)
        self._rows("#board-reading", rows)

    def _update_legends(self) -> None:
        for plot in self._plots():
            plot.update_legend()

    def _rows(self, name: str, rows: Sequence[Content]) -> None:
        lines = self.query_one(name, Lines)
        lines.display = bool(rows)
        lines.show(rows)

    def _plots(self) -> list[Plot]:
        return list(self.query(Plot))[: len(self._shown)]

    def _run(self, source: str) -> HeldRun | None:
        return next((run for run in self.runs if run.source == source), None)

    def _names(self) -> set[str]:
        return {name for run in self.runs for name, points in run.whole.items() if points.xs}

    @property
    def _last_x(self) -> float:
        return max((run.last_x for run in self.runs), default=0.0)

    def _fit_extent(self) -> bool:
        """Widen the axis when a run went beyond it; says whether it moved."""
        return self.sight.fit(self._last_x, self.total_steps if self.axis_drawn == "step" else None)

    # Finer points

    def _ask_for_detail(self) -> None:
        if self.is_zoomed and any(run.lacks_detail(name, self.window) for run in self.runs for name in self.metrics):
            start, stop = self.window
            beside = (stop - start) * BESIDE
            self._want((max(0.0, start - beside), min(self.sight.extent, stop + beside)), self.axis_drawn)

    def _want(self, window: Window | None, axis: Axis) -> None:
        if self.runs and self._asked != (window, axis):
            self._asked = (window, axis)
            self.post_message(self.ZoomWanted(self, window, axis))

    def _tell(self) -> None:
        """Let the keys be shown again when what applies changed."""
        now = (self.has_curves, self.has_more_metrics, self.is_zoomed)
        if now != self._told:
            self._told = now
            self.screen.refresh_bindings()
