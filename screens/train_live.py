"""Following one training into a board: its history at once, then what is new; other runs beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.message import Message

from explorer.schemas.curves import CurvesAnswer, CurvesQuery, RunCurves
from explorer.schemas.events import Event, Metric
from explorer.schemas.jobs import JobRemoved
from explorer.schemas.train_spec import TrainSpec
from screens.board_keys import ShowsBoard
from screens.job_words import short_id
from screens.train_run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.schemas.jobs import JobSummary
    from explorer.schemas.specs import Spec

WHOLE_EVENTS = 400  # a training that has said no more is replayed; of a longer one the curves are asked for
REFRESH_S = 2.0


@dataclass
class SpecRead(Message):
    """What the shown training was asked to do."""

    job_id: str
    spec: Spec


@dataclass
class RunEvents(Message):
    """Events of the followed training."""

    job_id: str
    events: list[Event]


@dataclass
class CurvesRead(Message):
    """The curves of the shown training and of those beside it."""

    job_id: str
    answer: CurvesAnswer


@dataclass
class OthersRead(Message):
    """What is new in the runs beside the shown one."""

    job_id: str
    answer: CurvesAnswer


@dataclass
class Beside:
    """A run drawn beside the shown one: whether it may still grow, and its last step so far."""

    source: str
    live: bool = True
    last_step: float = 0.0


@dataclass
class Charted:
    """What the board shows: whether its history is wanted, metrics that came while curves were on their way, other runs."""

    wants_history: bool = False
    asking: bool = False
    late: list[Metric] = field(default_factory=list)
    others: dict[str, Beside] = field(default_factory=dict)


class LiveTraining(ShowsBoard):
    """Mix in with a `Board`; override `draw`. `run_` is the training that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.run_: Run | None = None
        self.charted = Charted()
        self._chosen = False

    def draw(self) -> None:
        """Show what is known of the training, besides its curves."""

    # Which training

    def show_job(self, job: JobSummary) -> None:
        """Show this training from now on."""
        self._chosen = True
        self.show_training(job)

    def pick(self) -> None:
        """Show the training that runs, else the last one, unless it is shown already."""
        trainings = [job for job in self.explorer.jobs.values() if job.kind == "train"]
        best = max(trainings, key=lambda job: (job.active, job.created), default=None)
        if best is not None and (self.run_ is None or best.id != self.run_.job.id):
            self.show_training(best)

    def show_training(self, job: JobSummary) -> None:
        run = self.run_ = Run(self.explorer.jobs.get(job.id, job))
        self.charted = Charted()
        self.board.show([RunCurves(source=run.source, name=run_name(run.job))], None)
        self._open(run)
        self.draw()
        self.refresh_bindings()

    def reconnect(self) -> None:
        """Go on where the last connection broke."""
        run = self.run_
        if run is not None and (self.charted.wants_history or not run.last_seq):
            self._open(run)
        elif run is not None:
            self._follow(run, run.last_seq)

    def take_changes(self, changes: Sequence[JobSummary | JobRemoved]) -> None:
        """Jobs changed."""
        for change in changes:
            if self.run_ is not None and change.id == self.run_.job.id:
                self._shown_job_changed(self.run_, change)
        if self.run_ is None or not (self._chosen or self.run_.job.active):
            self.pick()

    def _shown_job_changed(self, run: Run, change: JobSummary | JobRemoved) -> None:
        if isinstance(change, JobRemoved):
            self.run_, self._chosen = None, False
            self.pick()
        else:
            revived = change.active and not run.job.active
            run.job = change
            self.board.set_total(run.extent)
            if revived and not self.charted.wants_history:
                self._follow(run, run.last_seq)
        self.draw()

    # Its history and what is new

    def _open(self, run: Run) -> None:
        engine, job_id = self.engine, run.job.id
        if engine is None:
            return
        self.ask(engine.spec(job_id), lambda spec: SpecRead(job_id, spec), group="spec")
        long = run.job.last_seq > WHOLE_EVENTS
        self._follow(run, 0, run.job.last_seq if long else 0)
        if long:
            self.charted.wants_history = True
            self.ask_curves()

    def _follow(self, run: Run, since: int, metrics_since: int = 0) -> None:
        if self.engine is not None:
            events = self.engine.follow(run.job.id, since, metrics_since)
            self.stream(events, lambda found: RunEvents(run.job.id, found), group="follow")

    def ask_curves(self) -> None:
        """Ask for the curves of all runs on the board, from their beginning."""
        run, charted = self.run_, self.charted
        if run is not None and self.engine is not None:
            charted.asking, charted.late = True, []
            job_id = run.job.id
            query = CurvesQuery(sources=[run.source, *charted.others])
            self.ask(self.engine.curves(query), lambda answer: CurvesRead(job_id, answer), group="history")

    def on_spec_read(self, message: SpecRead) -> None:
        run = self.run_
        if run is not None and message.job_id == run.job.id and isinstance(message.spec, TrainSpec):
            run.spec = message.spec
            self.draw()

    def on_curves_read(self, message: CurvesRead) -> None:
        run, charted = self.run_, self.charted
        if run is None or message.job_id != run.job.id:
            return
        charted.asking = False
        runs = [curves for curves in message.answer.runs if self._usable(run, curves)]
        self.board.show(runs, run.extent)
        if charted.wants_history:
            self._remember(run, next((curves for curves in runs if curves.source == run.source), None))
        self._plot(run, charted.late)
        charted.late = []
        self.draw()

    def _remember(self, run: Run, curves: RunCurves | None) -> None:
        """Learn from the history; replay the events where there is none."""
        self.charted.wants_history = False
        if curves is not None and curves.curves:
            run.remember(curves)
        else:
            self.run_ = Run(run.job, run.spec)
            self._follow(self.run_, 0)

    def on_run_events(self, message: RunEvents) -> None:
        run = self.run_
        if run is None or message.job_id != run.job.id:
            return
        found = run.take(message.events)
        if self.charted.asking:
            self.charted.late += [item for item in found if isinstance(item, Metric)]
        with self.app.batch_update():
            self._plot(run, found)
            self.board.set_total(run.extent)
            self.draw()

    def _plot(self, run: Run, found: Sequence[Metric | int]) -> None:
        board = self.board
        for item in found:
            if isinstance(item, int):
                board.rewind(run.source, item)
                continue
            for name, values in item.values.items():
                board.add(run.source, name, [float(step) for step in item.steps], values, item.time)
        board.update_cells()

    # Other runs beside it

    def toggle_beside(self, source: str) -> None:
        """Draw another run beside the shown one, or take it away."""
        others = self.charted.others
        if others.pop(source, None) is None:
            others[source] = Beside(source)
        self.ask_curves()

    def refresh_others(self) -> None:
        """Ask for what is new in the runs beside the shown one, while they may grow."""
        run = self.run_
        growing = [other for other in self.charted.others.values() if other.live]
        if run is None or self.engine is None or self.charted.asking or not growing:
            return
        for other in growing:
            job = self.explorer.jobs.get(other.source.removeprefix("job:"))
            other.live = job.active if job is not None else not other.source.startswith("job:")
        job_id = run.job.id
        query = CurvesQuery(sources=[other.source for other in growing], start=min(other.last_step for other in growing))
        self.ask(self.engine.curves(query), lambda answer: OthersRead(job_id, answer), group="others")

    def on_others_read(self, message: OthersRead) -> None:
        run = self.run_
        if run is None or message.job_id != run.job.id:
            return
        for curves in message.answer.runs:
            if (other := self.charted.others.get(curves.source)) is not None:
                other.last_step = float(curves.last_step or other.last_step)
                for curve in curves.curves:
                    self.board.add(curves.source, curve.name, curve.xs, curve.ys, curves.last_time)
        self.board.update_cells()

    def _usable(self, run: Run, curves: RunCurves) -> bool:
        """Whether to draw a run; one beside the shown one that has nothing and will have nothing is taken away again."""
        other = self.charted.others.get(curves.source)
        if other is None:
            return curves.source == run.source
        other.last_step = float(curves.last_step or 0)
        job = self.explorer.jobs.get(curves.source.removeprefix("job:"))
        if curves.curves or (job is not None and job.active):
            return True
        del self.charted.others[curves.source]
        said = curves.problem or "it has no values"
        self.notify(said, title=f"{curves.name or curves.source} cannot be drawn", severity="warning", markup=False)
        return False


def run_name(job: JobSummary) -> str:
    """What a run is called in the legend."""
    return f"{job.model} {short_id(job.id)}"
