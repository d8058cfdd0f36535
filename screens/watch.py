"""Watching the runs that any trainer logs: a list of them, and the curves of those that are marked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Mount, Resize
from textual.message import Message

from explorer.schemas.curves import CurvesAnswer, CurvesQuery, RunNews
from screens.actions import bindings
from screens.board_keys import ShowsBoard
from screens.row_keys import MovesRows
from screens.watch_list import WatchedRun, WatchList
from screens.watch_words import column_names, empty_rows, head_row, run_row
from screens.widgets.bars import TopBar
from screens.widgets.board import MOST_RUNS, Board
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobSummary

MOST_ROWS = {"-short": 5, "-tall": 9}
AGES_S = 1.0


@dataclass
class News(Message):
    """What is new in the runs below the watched path."""

    path: str
    items: list[RunNews]


@dataclass
class CurvesRead(Message):
    """The curves of the runs that were to be drawn."""

    shown: list[str]
    answer: CurvesAnswer


class WatchScreen(MovesRows, ShowsBoard):
    """The runs at or below `path`; the one written last is drawn first."""

    SECTION = "watch"
    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("watch"), *bindings("board")]

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = str(Path(path).expanduser().absolute())
        self.found = WatchList()
        self._late: list[RunNews] = []
        self._asking = False

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, TopBar):
                widget.section = "train"
            yield widget

    def compose_body(self) -> ComposeResult:
        yield Lines([""], id="head")
        yield Lines([], id="empty")
        yield Columns(column_names, id="columns")
        yield RowView[WatchedRun](lambda run: run.source, self._row, id="runs")
        yield Board(id="board")

    # What applies now, for `when` of actions

    @property
    def filled(self) -> bool:
        return self.is_mounted and self.rows.selected is not None

    @property
    def rows(self) -> RowView[WatchedRun]:
        """The list of runs."""
        found: RowView[WatchedRun] = self.query_one("#runs", RowView)
        return found

    # What comes in

    def on_mount(self, event: Mount) -> None:
        self.set_interval(AGES_S, self._draw_ages)

    def engine_changed(self, engine: Engine | None) -> None:
        if engine is not None:
            self._watch(engine)
        self._draw()

    def on_news(self, message: News) -> None:
        if message.path != self.path:
            return
        shown, rows = list(self.found.shown), self._shape()
        self.found.take(message.items)
        restarted = any(item.restarted and item.run.source in shown for item in message.items)
        with self.app.batch_update():
            if rows != self._shape():
                self._draw()
            if not shown and self.found.shown:
                self.rows.select(self.found.shown[0])
            if shown != self.found.shown or restarted:
                self._read_curves()
            elif self._asking:
                self._late += message.items
            else:
                self._add(message.items)

    def on_curves_read(self, message: CurvesRead) -> None:
        if message.shown != self.found.shown:
            return
        self._asking = False
        self.board.show(message.answer.runs)
        self._add(self._late)
        self._late = []

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    def show_job(self, job: JobSummary) -> None:
        """Show a training of ours on the screen below."""
        from screens.train import TrainScreen

        self.app.pop_screen()
        if isinstance(self.app.screen, TrainScreen):
            self.app.screen.show_job(job)

    # What a person does

    def action_mark(self) -> None:
        run = self._usable()
        if run is None:
            return
        if not self.found.toggle(run.source):
            self.notify(f"{MOST_RUNS} runs are drawn already; space takes one away.", timeout=3)
            return
        self._read_curves()
        self._draw()

    def action_alone(self) -> None:
        run = self._usable()
        if run is not None:
            self.found.shown = [run.source]
            self._read_curves()
            self._draw()

    def action_open(self) -> None:
        from screens.widgets.file_picker import FilePicker

        start = Path(self.path) if Path(self.path).is_dir() else Path.cwd()
        self.app.push_screen(FilePicker(start, folders="Watch the runs below"), self._picked)

    def action_back(self) -> None:
        self.app.pop_screen()

    # Inside

    def _watch(self, engine: Engine) -> None:
        path = self.path
        self.stream(engine.watch_runs(path), lambda items: News(path, items), group="watch")

    def _picked(self, path: Path | None) -> None:
        if path is None or self.engine is None:
            return
        self.path, self.found, self._late, self._asking = str(path), WatchList(), [], False
        self.board.show([])
        self._watch(self.engine)
        self._draw()

    def _usable(self) -> WatchedRun | None:
        """The selected run, unless there is nothing to draw of it, which is said."""
        run = self.rows.selected
        if run is not None and run.unreadable:
            self.notify(run.problem, title=f"{run.name} cannot be drawn", severity="warning", timeout=4, markup=False)
            return None
        return run

    def _read_curves(self) -> None:
        """Ask for what is to be drawn; what comes meanwhile is added behind."""
        shown = list(self.found.shown)
        self._late = []
        if not shown:
            self.board.show([])
        elif self.engine is not None:
            self._asking = True
            self.ask(self.engine.curves(CurvesQuery(sources=shown)), lambda answer: CurvesRead(shown, answer), group="read")

    def _add(self, items: list[RunNews]) -> None:
        for item in items:
            if item.run.source in self.found.shown:
                for curve in item.run.curves:
                    self.board.add(item.run.source, curve.name, curve.xs, curve.ys, item.run.last_time)
        self.board.update_cells()

    def _row(self, run: WatchedRun, width: int) -> Content:
        return run_row(run, self.found.shown, now(), width)

    def _draw(self) -> None:
        problem = self.found.only_problem(self.path)
        runs = [] if problem else self.found.ordered()
        for name, shows in (("#empty", not runs), ("#columns", bool(runs)), ("#runs", bool(runs)), ("#board", bool(runs))):
            self.query_one(name).display = shows
        if not runs:
            self.query_one("#empty", Lines).show(empty_rows(self.path, problem))
        most = MOST_ROWS["-tall" if self.has_class("-tall") else "-short"]
        self.rows.styles.height = max(1, min(len(runs), most))
        self.rows.fill(runs)
        self._draw_ages()
        self.refresh_bindings()

    def _shape(self) -> list[tuple[str, bool, bool]]:
        """What of the list is drawn at once when it changes; the numbers follow each second."""
        return [(run.source, run.unreadable, run.gone) for run in self.found.ordered()]

    def _draw_ages(self) -> None:
        self.query_one("#head", Lines).show([head_row(self.path, self.found, now())])
        self.rows.redraw()


def now() -> float:
    """The Unix time that ages are told from."""
    return time.time()
