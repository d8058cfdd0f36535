"""The Train screen: start a training, watch it live over its whole length, steer it, see why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from explorer.schemas.events import Event, Metric
from explorer.schemas.jobs import Command, JobRemoved, JobSummary
from explorer.schemas.specs import Spec, TrainSpec
from screens.actions import bindings
from screens.ceiling_words import training_limit
from screens.ceilings import KnowsCeilings
from screens.train_run import Run, curve
from screens.widgets.chart import Chart
from screens.widgets.facts import Facts
from screens.widgets.lines import Lines
from screens.widgets.series import Series

if TYPE_CHECKING:
    from explorer.engine.client import Engine

EMPTY = ("No training yet.", "Press n for a new one; enter in its form starts it with the values shown.")


@dataclass
class RunEvents(Message):
    """Events of the followed training."""

    job_id: str
    events: list[Event]


@dataclass
class Submitted(Message):
    """The engine took a new training."""

    job: JobSummary


@dataclass
class Controlled(Message):
    """The engine took a command."""

    job: JobSummary


class TrainScreen(KnowsCeilings):
    """Shows one training: the latest that runs when opened, else the last that ended."""

    SECTION = "train"
    CSS_PATH = "train.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("train")]

    def __init__(self) -> None:
        super().__init__()
        self.run_: Run | None = None
        self._chosen = False

    def compose_body(self) -> ComposeResult:
        yield Lines(["", ""], id="head")
        yield Lines(EMPTY, id="empty")
        yield Lines([], id="trouble")
        with Container(id="body"):
            with Vertical(id="charts"):
                yield Chart("loss", id="loss")
                yield Chart("accuracy", ceiling=1.0, id="accuracy")
            with Vertical(id="side"):
                yield Facts()
                yield Lines([], id="notes")

    # What applies now, for `when` of actions

    @property
    def can_pause(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.state == "running"

    @property
    def can_unpause(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.state == "paused"

    @property
    def can_cancel(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.active

    @property
    def can_resume(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.resumable and not self.run_.job.active

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        self.read_ceilings()
        if engine is not None and self.run_ is not None:
            self._follow(self.run_)
        elif engine is not None:
            self._pick()
        self._draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        self.read_ceilings()
        shown = self.run_
        for change in changes:
            if shown is not None and change.id == shown.job.id:
                self._shown_job_changed(shown, change)
        if self.run_ is None or not (self._chosen or self.run_.job.active):
            self._pick()

    def ceilings_changed(self) -> None:
        self._draw()

    def show_job(self, job: JobSummary) -> None:
        """Show this training from now on."""
        self._chosen = True
        self._show(job)

    def on_run_events(self, message: RunEvents) -> None:
        run = self.run_
        if run is None or message.job_id != run.job.id:
            return
        metrics = run.take(message.events)
        with self.app.batch_update():
            self._fit_extent(run)
            self._plot(metrics)
            self._draw()

    def on_submitted(self, message: Submitted) -> None:
        self.show_job(message.job)

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    # What a person does

    def action_new(self) -> None:
        from screens.widgets.spec_form import SpecDialog

        self.app.push_screen(SpecDialog("New training", TrainSpec), self._submit)

    def action_pause(self) -> None:
        self._control("pause")

    def action_unpause(self) -> None:
        self._control("resume")

    def action_resume(self) -> None:
        self._control("resume")

    def action_checkpoint(self) -> None:
        self._control("checkpoint")
        self.notify("a checkpoint follows at the next step", timeout=3)

    def action_cancel(self) -> None:
        from screens.dialogs import ConfirmDialog

        run = self.run_
        if run is not None:
            question = f"Stop the training of {run.job.model} (job {run.job.id})?"
            self.app.push_screen(ConfirmDialog(question), lambda yes: self._control("cancel") if yes else None)

    def _submit(self, spec: Spec | None) -> None:
        if spec is not None and self.engine is not None:
            self.ask(self.engine.submit(spec), Submitted, group="submit")

    def _control(self, command: Command) -> None:
        if self.run_ is not None and self.engine is not None:
            self.ask(self.engine.control(self.run_.job.id, command), Controlled, group="control")

    # What is shown

    def _pick(self) -> None:
        trainings = [job for job in self.explorer.jobs.values() if job.kind == "train"]
        best = max(trainings, key=lambda job: (job.active, job.created), default=None)
        if best is not None and (self.run_ is None or best.id != self.run_.job.id):
            self._show(best)

    def _show(self, job: JobSummary) -> None:
        self.run_ = Run(self.explorer.jobs.get(job.id, job))
        self.query_one("#loss", Chart).reset()
        self.query_one("#accuracy", Chart).reset()
        self._follow(self.run_)
        self._draw()
        self.refresh_bindings()

    def _follow(self, run: Run) -> None:
        job_id = run.job.id
        if self.engine is not None:
            self.stream(self.engine.follow(job_id, run.last_seq), lambda events: RunEvents(job_id, events), group="follow")

    def _shown_job_changed(self, run: Run, change: JobSummary | JobRemoved) -> None:
        if isinstance(change, JobRemoved):
            self.run_, self._chosen = None, False
            self._pick()
        else:
            revived = change.active and not run.job.active
            run.job = change
            if revived:
                self._follow(run)
        self._draw()

    def _fit_extent(self, run: Run) -> None:
        if run.total and run.unit == "steps":
            for chart in self.query(Chart):
                chart.set_extent(run.total)

    def _plot(self, metrics: list[Metric]) -> None:
        for metric in metrics:
            for name, values in metric.values.items():
                place = curve(name)
                if place is None:
                    continue
                chart = self.query_one(f"#{place.chart}", Chart)
                if place.name not in chart.series:
                    style = "$series-2" if place.held_out else "$primary"
                    chart.series[place.name] = Series(place.name, dotted=place.held_out, style=style)
                chart.add(place.name, metric.steps, values)
        for chart in self.query(Chart):
            chart.update_cells()

    def _draw(self) -> None:
        run = self.run_
        self.query_one("#empty").display = run is None
        self.query_one("#body").display = run is not None
        self.query_one("#head").display = run is not None
        trouble = run.trouble() if run is not None else []
        self.query_one("#trouble").display = bool(trouble)
        if run is None:
            return
        first, second = run.headline()
        limit = training_limit(run.result, self.ceilings) if run.result is not None else ""
        second += f" · {limit}" if limit else ""
        self.query_one("#head", Lines).show([Content.assemble((first, "bold")), second])
        rows = [Content.assemble((line, "$error" if not place else "")) for place, line in enumerate(trouble)]
        self.query_one("#trouble", Lines).show(rows)
        self.query_one("#accuracy").display = bool(self.query_one("#accuracy", Chart).series) or not run.latest
        self._draw_side(run)

    def _draw_side(self, run: Run) -> None:
        self.query_one(Facts).set_facts(run.facts())
        notes = [f"{found.severity}: {found.title}" for found in run.findings[-4:]] + list(run.notes)[-8:]
        shown = bool(notes) and self.has_class("-wide")
        self.query_one("#notes", Lines).show(["", Content.assemble(("LOG", "bold $primary")), *notes] if shown else [])
