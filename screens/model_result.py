"""What a job found out about model files: its progress, then a verdict over a table, with the facts of one row beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Mount
from textual.message import Message

from explorer.schemas.events import Event, Failure, Progress
from explorer.schemas.jobs import JobRemoved, JobSummary
from explorer.schemas.results import JobResult
from explorer.schemas.specs import Spec
from screens.actions import bindings
from screens.ceilings import KnowsCeilings
from screens.job_detail import JobDetail
from screens.job_words import STATE_STYLES, short_id
from screens.jobs import bar
from screens.model_page import ModelPage
from screens.model_tables import ResultTable, table_of
from screens.model_trust import asked_digest, question, trusting
from screens.result_words import fact_lines, failure_rows, heading, spec_facts
from screens.text import bytes_, count, percent
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView

if TYPE_CHECKING:
    from explorer.engine.client import Engine

SIDE_ROOM = 42
KINDS_IN_WORDS = {
    "diff": "Differences",
    "verify": "Same or not",
    "match": "Weights against a module",
    "layers": "Layers",
    "values": "Search for NaN and infinity",
}


@dataclass
class SpecRead(Message):
    """What the shown job was asked."""

    spec: Spec


@dataclass
class Happened(Message):
    """Events of the shown job."""

    events: list[Event]


class ResultPage(KnowsCeilings, ModelPage):
    """One job from its start to its result; or, with `result`, an answer that no job was kept for."""

    SECTION = "result"
    CSS_PATH = "model_result.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("result")]

    def __init__(self, job: JobSummary | None = None, result: JobResult | None = None, spec: Spec | None = None) -> None:
        super().__init__()
        self.detail = JobDetail(job, spec=spec) if job is not None else None
        self.spec = spec
        self._result = result
        self._table: ResultTable[Any] | None = None
        self._sort = ""
        self._filter = ""
        self._set_table()

    def compose_body(self) -> ComposeResult:
        yield Lines([""], id="head")
        with Container(id="body"):
            with Container(id="table"):
                yield Columns(self._columns, id="columns")
                yield RowView[Any](self._key, self._draw_row, id="rows")
            with VerticalScroll(id="side", can_focus=False):
                yield Lines([], id="facts")

    # What applies now, for `when` of actions

    @property
    def can_sort(self) -> bool:
        return self._table is not None and len(self._table.SORTS) > 1

    @property
    def can_filter(self) -> bool:
        return self._table is not None and (bool(self._filter) or self.filled)

    @property
    def can_change(self) -> bool:
        return self.connected and self.spec is not None

    @property
    def can_cancel(self) -> bool:
        return self.connected and self.detail is not None and self.detail.job.active

    @property
    def can_trust(self) -> bool:
        return self.connected and self._trusting() is not None

    # What comes in

    def on_mount(self, event: Mount) -> None:
        self.call_after_refresh(self.draw)

    def engine_changed(self, engine: Engine | None) -> None:
        if engine is None or self.detail is None:
            return
        self.read_ceilings()
        job_id = self.detail.job.id
        if self.spec is None:
            self.ask(engine.spec(job_id), SpecRead, group="spec")
        self.stream(engine.follow(job_id, self.detail.last_seq), Happened, group="follow")

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        for change in changes:
            if self.detail is not None and change.id == self.detail.job.id and isinstance(change, JobSummary):
                self.detail.job = change
        self.read_ceilings()
        self.draw()

    def ceilings_changed(self) -> None:
        self._set_table()
        self.draw()

    def on_spec_read(self, message: SpecRead) -> None:
        self.spec = message.spec
        self.draw()

    def on_happened(self, message: Happened) -> None:
        if self.detail is not None:
            self.detail.take(message.events)
            self._result = self.detail.result or self._result
            self._set_table()
            self.draw()
            if self.can_trust and any(isinstance(item, Failure) for item in message.events):
                self.action_trust()

    # What a person does

    def action_enter(self) -> None:
        from screens.dialogs import TextDialog

        width = self.size.width - 6
        if self._table is not None and self.rows.selected is not None:
            rows = [*self._table.facts(self.rows.selected, width), Content(""), *self._table.about(width)]
            self.app.push_screen(TextDialog(self._heading(), rows))

    def action_sort(self) -> None:
        if self._table is not None:
            sorts = self._table.SORTS
            self._sort = sorts[(sorts.index(self._sort) + 1) % len(sorts)] if self._sort in sorts else sorts[1]
            self.draw()
            self.rows.select_place(0)

    def action_search(self) -> None:
        from screens.widgets.search_line import SearchLine

        self.app.push_screen(SearchLine(self._filter, self._search))

    def action_change(self) -> None:
        if self.spec is not None:
            self.ask_spec(self._heading(), type(self.spec), self.spec.model_dump(exclude={"kind"}))

    def action_cancel(self) -> None:
        if self.detail is not None:
            self.ask_cancel(self.detail.job)

    def action_trust(self) -> None:
        from screens.dialogs import ConfirmDialog

        failure, spec = (self.detail.failure if self.detail is not None else None), self._trusting()
        if failure is not None and spec is not None:
            asked = question(failure, asked_digest(failure))
            self.app.push_screen(ConfirmDialog(asked), lambda yes: self.submit(spec) if yes else None)

    # What is shown

    def draw(self) -> None:
        if not self.is_mounted:
            return
        table = self._table
        self.query_one("#head", Lines).show(self._head(self.size.width - 2))
        self.query_one("#table").display = table is not None
        self.query_one("#side").set_class(table is None, "-alone")
        sort = self._sort or (table.SORTS[0] if table is not None and table.SORTS else "")
        self.rows.fill(table.rows(sort, self._filter) if table is not None else [])
        self._draw_columns()
        self.draw_selected()
        self.refresh_bindings()

    def draw_selected(self) -> None:
        width = (SIDE_ROOM if self.has_class("-wide") and self._table is not None else self.size.width) - 4
        rows: list[Content] = []
        if self._table is not None:
            row = self.rows.selected
            facts = [*self._table.facts(row, width), Content("")] if row is not None else []
            rows = [*facts, *self._table.about(width)]
        elif self.detail is not None and self.detail.failure is not None:
            rows = failure_rows(self.detail.failure, width)
        elif self.spec is not None:
            rows = [heading("ASKED"), *fact_lines(spec_facts(self.spec))]
        self.query_one("#facts", Lines).show(rows)

    def _draw_columns(self) -> None:
        none = "" if self.filled else f"  (no {self._table.WHAT if self._table is not None else 'row'} has this in its name)"
        said = Content.assemble((f"  / {self._filter}{none}", "bold $primary")) if self._filter else None
        self.query_one(Columns).override(said)

    def _head(self, width: int) -> list[Content]:
        if self._table is not None:
            order = [Content.assemble((f"sorted by {self._sort}", "$primary"))] if self._sort else []
            return [*self._table.head(width), *order]
        if self.detail is None:
            return []
        job, progress = self.detail.job, self.detail.progress
        first = Content.assemble(
            (self._heading(), "bold"), " · ", (job.state, f"bold {STATE_STYLES[job.state]}"), f" · job {short_id(job.id)}"
        )
        if not job.active or progress is None:
            return [first]
        share = progress.done / progress.total if progress.total else None
        words = f"{percent(share)}  " if share is not None else ""
        said = Content.assemble((f"{bar(share)} ", "$primary"), f"{words}{_amount(progress)}")
        return [first, Content.assemble(said, (f"  {progress.message}", "$muted")).truncate(width, ellipsis=True)]

    def _heading(self) -> str:
        kind = self.detail.job.kind if self.detail is not None else self.spec.kind if self.spec is not None else ""
        return KINDS_IN_WORDS.get(kind, kind)

    def _set_table(self) -> None:
        self._table = table_of(self._result, self.ceilings) if self._result is not None else None

    def _trusting(self) -> Spec | None:
        digest = asked_digest(self.detail.failure) if self.detail is not None else ""
        return trusting(self.spec, digest) if digest and self.spec is not None else None

    def _search(self, text: str) -> None:
        self._filter = text
        self.draw()

    def _columns(self, width: int) -> Content:
        return self._table.columns(width) if self._table is not None else Content("")

    def _key(self, row: Any) -> str:
        return self._table.key(row) if self._table is not None else ""

    def _draw_row(self, row: Any, width: int) -> Content:
        return self._table.draw(row, width) if self._table is not None else Content("")


def _amount(progress: Progress) -> str:
    """How much is done, of how much when that is known."""
    known = [item for item in (progress.done, progress.total) if item is not None]
    if progress.unit == "bytes":
        return " of ".join(map(bytes_, known))
    return f"{' of '.join(map(count, known))} {progress.unit}"
