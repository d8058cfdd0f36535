"""The Experiments screen: every job that was run, to look up, repeat, compare and remove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from explorer.errors import ExplorerError
from explorer.schemas.jobs import JobRemoved, JobSummary
from screens.actions import bindings
from screens.compare import compare_rows
from screens.job_detail import JobDetail, read_detail
from screens.job_rows import column_names, detail_rows, job_row, matching, result_rows
from screens.job_words import kin_line, short_id
from screens.row_keys import MovesRows
from screens.submitting import Submitting
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView

if TYPE_CHECKING:
    from explorer.engine.client import Engine

EMPTY = "No job yet.  3 then n starts a training; every job stays here until you remove it."
LOG_BYTES = 16_384
RESUMABLE = ("failed", "cancelled", "lost")


@dataclass
class DetailRead(Message):
    """Everything about one job, to be shown on its page."""

    detail: JobDetail


@dataclass
class Glanced(Message):
    """The result of the selected job, for below the list."""

    detail: JobDetail


@dataclass
class Compared(Message):
    """Everything about the marked jobs."""

    details: list[JobDetail]


@dataclass
class Repeated(Message):
    """The engine took a job like another."""

    job: JobSummary


@dataclass
class Removed(Message):
    """Jobs are gone; `kept` tells of those that could not be removed."""

    ids: list[str]
    kept: ExplorerError | None


class ExperimentsScreen(MovesRows, Submitting):
    """All jobs, newest first."""

    SECTION = "experiments"
    CSS_PATH = "experiments.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("experiments")]

    def __init__(self) -> None:
        super().__init__()
        self._filter = ""
        self._marked: dict[str, None] = {}
        self._seen: dict[str, JobDetail] = {}

    def compose_body(self) -> ComposeResult:
        yield Lines([""], id="head")
        yield Lines([EMPTY], id="empty")
        with Container(id="body"):
            yield Columns(column_names, id="columns")
            yield RowView[JobSummary](lambda job: job.id, self._row, id="jobs")
            yield Lines(["", ""], id="lineage")
            with VerticalScroll(id="glance", can_focus=False):
                yield Lines([])

    # What applies now, for `when` of actions

    @property
    def any(self) -> bool:
        return bool(self.explorer.jobs)

    @property
    def filled(self) -> bool:
        return self.selected is not None

    @property
    def can_compare(self) -> bool:
        return self.connected and len(self._marked) >= 2

    @property
    def can_repeat(self) -> bool:
        return self.connected and self.filled

    @property
    def can_resume(self) -> bool:
        job = self.selected
        return self.connected and job is not None and job.resumable and job.state in RESUMABLE

    @property
    def can_cancel(self) -> bool:
        return self.connected and self.selected is not None and self.selected.active

    @property
    def can_remove(self) -> bool:
        return self.connected and bool(self._to_remove())

    @property
    def selected(self) -> JobSummary | None:
        """The job of the selected row."""
        return self.rows.selected

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        self._draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        for change in changes:
            self._seen.pop(change.id, None)
            if isinstance(change, JobRemoved):
                self._marked.pop(change.id, None)
        self._draw()

    def show_job(self, job: JobSummary) -> None:
        """Select this job."""
        self.rows.select(job.id)

    def on_row_view_selected(self, event: RowView.Selected) -> None:
        self._draw_selected()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    def on_detail_read(self, message: DetailRead) -> None:
        from screens.dialogs import TextDialog

        job = message.detail.job
        rows = detail_rows(message.detail, self.explorer.jobs, self.size.width - 6)
        self.app.push_screen(TextDialog(f"Job {short_id(job.id)}: {job.kind} {job.model}", rows))

    def on_glanced(self, message: Glanced) -> None:
        self._seen[message.detail.job.id] = message.detail
        self._draw_glance()

    def on_compared(self, message: Compared) -> None:
        from screens.dialogs import TextDialog

        rows = compare_rows(message.details, self.size.width - 6)
        self.app.push_screen(TextDialog(f"{len(message.details)} jobs side by side", rows))

    def on_repeated(self, message: Repeated) -> None:
        self.rows.select(message.job.id)
        self.notify(
            f"{message.job.kind} {message.job.model} runs again as job {short_id(message.job.id)}", markup=False, timeout=4
        )

    def on_removed(self, message: Removed) -> None:
        if message.ids:
            self.notify(f"{_jobs(len(message.ids))} removed", timeout=3)
        if message.kept is not None:
            self.say_error(message.kept)

    # What a person does

    def action_details(self) -> None:
        if self.selected is not None and self.engine is not None:
            self.ask(read_detail(self.engine, self.selected, LOG_BYTES), DetailRead, group="detail")

    def action_search(self) -> None:
        from screens.widgets.search_line import SearchLine

        self.app.push_screen(SearchLine(self._filter, self._search))

    def action_mark(self) -> None:
        if self.selected is None:
            return
        if self.selected.id in self._marked:
            del self._marked[self.selected.id]
        else:
            self._marked[self.selected.id] = None
        self.rows.move(1)
        self._draw()

    def action_compare(self) -> None:
        if self.engine is not None:
            self.ask(_read_all(self.engine, self._marked_jobs()), Compared, group="compare")

    def action_repeat(self) -> None:
        if self.selected is not None and self.engine is not None:
            self.ask(_repeated(self.engine, self.selected.id), Repeated, group="repeat")

    def action_resume(self) -> None:
        if self.selected is not None:
            self.control(self.selected, "resume")

    async def action_open(self) -> None:
        if self.selected is not None:
            await self.explorer.open_job(self.selected)

    def action_cancel(self) -> None:
        if self.selected is not None:
            self.ask_cancel(self.selected)

    def action_copy(self) -> None:
        if self.selected is not None:
            self.copy_spec(self.selected)

    def action_remove(self) -> None:
        from screens.dialogs import ConfirmDialog

        found = self._to_remove()
        what = f"{found[0].kind} {found[0].model} (job {short_id(found[0].id)})" if len(found) == 1 else _jobs(len(found))
        question = f"Remove {what} with the log and every file made?"
        self.app.push_screen(ConfirmDialog(question), lambda yes: self._remove(found) if yes else None)

    def action_first(self) -> None:
        self.rows.select_place(0)

    def action_last(self) -> None:
        self.rows.select_place(len(self.explorer.jobs))

    # What is shown

    @property
    def rows(self) -> RowView[JobSummary]:
        found: RowView[JobSummary] = self.query_one("#jobs", RowView)
        return found

    def _row(self, job: JobSummary, width: int) -> Content:
        return job_row(job, job.id in self._marked, width)

    def _marked_jobs(self) -> list[JobSummary]:
        """In the order in which they were marked."""
        return [self.explorer.jobs[job_id] for job_id in self._marked if job_id in self.explorer.jobs]

    def _to_remove(self) -> list[JobSummary]:
        """The ended jobs among the marked, else the selected when it has ended."""
        chosen = self._marked_jobs() or [job for job in [self.selected] if job is not None]
        return [job for job in chosen if not job.active]

    def _remove(self, jobs: list[JobSummary]) -> None:
        if self.engine is not None:
            self.ask(_removed(self.engine, jobs), lambda found: found, group="remove")

    def _search(self, text: str) -> None:
        self._filter = text
        self._draw()

    def _draw(self) -> None:
        found = matching(self.explorer.jobs.values(), self._filter)
        self.query_one("#empty").display = not self.any
        self.query_one("#head").display = self.any
        self.query_one("#body").display = self.any
        self.query_one("#head", Lines).show([self._head(len(found))])
        self.rows.fill(found)
        self._draw_selected()

    def _head(self, shown: int) -> Content:
        total = len(self.explorer.jobs)
        filtered = f"{shown} of {_jobs(total)} · / {self._filter}" if self._filter else _jobs(total)
        marked = f"   {len(self._marked)} marked" if self._marked else ""
        nothing = "   no job fits; / changes the filter" if self._filter and not shown else ""
        return Content.assemble((filtered, "bold"), (marked, "$primary"), (nothing, "$warning"))

    def _draw_selected(self) -> None:
        job = self.selected
        line = Content.assemble(("lineage  ", "$muted"), kin_line(job, self.explorer.jobs)) if job is not None else Content("")
        self.query_one("#lineage", Lines).show([line, Content(job.headline) if job is not None else Content("")])
        self._draw_glance()
        self.refresh_bindings()
        wanted = job is not None and not job.active and job.id not in self._seen and self.has_class("-tall")
        if wanted and job is not None and self.engine is not None:
            self.ask(read_detail(self.engine, job), Glanced, group="glance")

    def _draw_glance(self) -> None:
        detail = self._seen.get(self.selected.id) if self.selected is not None else None
        rows: list[Content] = []
        if detail is not None:
            from screens.result_words import failure_rows

            width = max(20, self.size.width - 4)
            rows = failure_rows(detail.failure, width) if detail.failure is not None else result_rows(detail, width)[1:]
        self.query_one("#glance Lines", Lines).show(rows)


async def _read_all(engine: Engine, jobs: list[JobSummary]) -> list[JobDetail]:
    return [await read_detail(engine, job) for job in jobs]


async def _repeated(engine: Engine, job_id: str) -> JobSummary:
    return await engine.submit(await engine.spec(job_id))


async def _removed(engine: Engine, jobs: list[JobSummary]) -> Removed:
    """Remove each; an engine that refuses one is not asked for the rest."""
    gone: list[str] = []
    try:
        for job in jobs:
            await engine.remove(job.id)
            gone.append(job.id)
    except ExplorerError as error:
        return Removed(gone, error)
    return Removed(gone, None)


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"
