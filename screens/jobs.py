"""The list of jobs that run or wait, over any screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.errors import ExplorerError
from screens.actions import applies, bindings
from screens.text import clock, duration, percent
from screens.widgets.bars import KeyBar
from screens.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary
    from screens.app import ExplorerApp

EMPTY = "No job runs or waits.  3 then n starts a training; 6 shows every job that ended."
BAR = 12


class JobsScreen(ModalScreen[None]):
    """Active jobs, newest first; enter opens one on the screen made for its kind."""

    SECTION = "jobs"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("jobs")]

    def compose(self) -> ComposeResult:
        yield Static("Jobs that run or wait", classes="dialog-title")
        with VerticalScroll(classes="dialog-body", can_focus=False):
            yield RowList()
            yield Static(EMPTY, classes="muted")
        yield KeyBar()

    @property
    def explorer(self) -> ExplorerApp:
        """The app with its own type."""
        return cast("ExplorerApp", self.app)

    @property
    def selected(self) -> JobSummary | None:
        return self.explorer.jobs.get(self.query_one(RowList).selected or "")

    @property
    def filled(self) -> bool:
        """Whether a job is selected; for `when` of actions."""
        return self.selected is not None

    @property
    def can_cancel(self) -> bool:
        return self.explorer.engine is not None and self.filled

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return applies(self, "jobs", action)

    def on_mount(self) -> None:
        self.explorer.jobs_signal.subscribe(self, self._changed)
        self._changed([])

    def action_up(self) -> None:
        self.query_one(RowList).move(-1)

    def action_down(self) -> None:
        self.query_one(RowList).move(1)

    async def action_open(self) -> None:
        job = self.selected
        if job is not None:
            app = self.explorer
            self.dismiss(None)
            app.call_later(app.open_job, job)

    def action_cancel(self) -> None:
        from screens.dialogs import ConfirmDialog

        job = self.selected
        if job is not None:
            question = f"Stop {job.kind} of {job.model} (job {job.id})?"
            self.app.push_screen(ConfirmDialog(question), lambda yes: self._cancel(job.id) if yes else None)

    def action_close(self) -> None:
        self.dismiss(None)

    def _cancel(self, job_id: str) -> None:
        engine = self.explorer.engine
        if engine is not None:
            self.run_worker(self._cancelled(engine, job_id), group="control")

    async def _cancelled(self, engine: Engine, job_id: str) -> None:
        try:
            await engine.control(job_id, "cancel")
        except ExplorerError as error:
            self.notify(error.remedy, title=error.message, severity="error", markup=False)

    def _changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        active = sorted((job for job in self.explorer.jobs.values() if job.active), key=lambda job: job.created, reverse=True)
        self.query_one(RowList).fill([Row(job.id, job_line(job)) for job in active])
        self.query_one(".muted").display = not active
        self.refresh_bindings()


def job_line(job: JobSummary) -> Content:
    """When, what, which model, state and progress in one row."""
    text = f"{clock(job.created)}  {job.kind:<9} {job.model[:20]:<21}{job.state:<10}"
    left = f"{duration(job.seconds_left)} left  " if job.seconds_left is not None else ""
    said = job.message or job.headline
    share = (f"{bar(job.progress)} {percent(job.progress):>5}  ", "$primary")
    return Content.assemble(text, share, left, (said, "$muted"))


def bar(share: float | None) -> str:
    """A bar of fixed width; empty when the share is not known."""
    full = 0 if share is None else round(min(1.0, max(0.0, share)) * BAR)
    return "▰" * full + "▱" * (BAR - full)
