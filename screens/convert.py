"""The Convert screen: from torch to ONNX or Core ML, the way there live, the proof at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from explorer.schemas.events import Event
from explorer.schemas.jobs import JobRemoved, JobSummary
from explorer.schemas.specs import Spec
from screens.actions import bindings
from screens.convert_asked import asked_paragraph, asked_rows, made_rows
from screens.convert_keys import ConvertKeys
from screens.convert_words import apart, body_rows, head_rows
from screens.job_detail import JobDetail
from screens.widgets.lines import Lines

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import EngineStatus
    from explorer.schemas.readings import Inventory

EMPTY = (
    "No conversion yet.  Press n for a new one, from your latest training.",
    "",
    "A conversion says beforehand what will fail, tries several ways and proves",
    "what it wrote, ONNX and Core ML alike: its outputs beside those of the",
    "torch model, on this machine. One that differs fails, and you read where.",
)
SIDE_ROOM = 42


@dataclass
class SpecRead(Message):
    """What the shown conversion was asked."""

    job_id: str
    spec: Spec


@dataclass
class ConversionEvents(Message):
    """Events of the shown conversion."""

    job_id: str
    events: list[Event]


@dataclass
class StatusRead(Message):
    """The engine said where its jobs lie."""

    status: EngineStatus


class ConvertScreen(ConvertKeys):
    """Shows one conversion: the latest until an older one is chosen."""

    SECTION = "convert"
    CSS_PATH = "convert.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("convert")]

    def __init__(self) -> None:
        super().__init__()
        self._chosen = False
        self._home = ""

    def compose_body(self) -> ComposeResult:
        yield Lines(["", ""], id="head")
        yield Lines(EMPTY, id="empty")
        with Container(id="body"):
            with VerticalScroll(id="side", can_focus=False):
                yield Lines([], id="asked")
            with VerticalScroll(id="main", can_focus=False):
                yield Lines([], id="proof")

    # What applies now, for `when` of actions

    @property
    def has_older(self) -> bool:
        return self.detail is not None and self._place() > 0

    @property
    def has_newer(self) -> bool:
        return self.detail is not None and self._place() < len(self._conversions()) - 1

    @property
    def shown(self) -> bool:
        return self.detail is not None

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        if engine is not None:
            self.ask(engine.status(), StatusRead, group="status")
            if self.detail is not None:
                self._follow(self.detail)
        self._pick()
        self._draw()

    def inventory_changed(self, inventory: Inventory) -> None:
        self._draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        for change in changes:
            if self.detail is not None and change.id == self.detail.job.id:
                if isinstance(change, JobRemoved):
                    self.detail, self._chosen = None, False
                else:
                    self.detail.job = change
        if not self._chosen:
            self._pick()
        self._draw()

    def show_job(self, job: JobSummary) -> None:
        """Show this conversion from now on."""
        self._chosen = True
        self._show(job)

    def on_status_read(self, message: StatusRead) -> None:
        self._home = message.status.home
        self._draw()

    def on_spec_read(self, message: SpecRead) -> None:
        if self.detail is not None and message.job_id == self.detail.job.id:
            self.detail.spec = message.spec
            self._draw()

    def on_conversion_events(self, message: ConversionEvents) -> None:
        if self.detail is not None and message.job_id == self.detail.job.id:
            self.detail.take(message.events)
            self._draw()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    # What a person does

    def action_older(self) -> None:
        self._step(-1)

    def action_newer(self) -> None:
        self._step(1)

    def action_up(self) -> None:
        self.query_one("#main").scroll_relative(y=-1, animate=False)

    def action_down(self) -> None:
        self.query_one("#main").scroll_relative(y=1, animate=False)

    def action_page_up(self) -> None:
        self.query_one("#main").scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        self.query_one("#main").scroll_page_down(animate=False)

    # What is shown

    def _conversions(self) -> list[JobSummary]:
        return sorted((job for job in self.explorer.jobs.values() if job.kind == "convert"), key=lambda job: job.created)

    def _place(self) -> int:
        ids = [job.id for job in self._conversions()]
        return ids.index(self.detail.job.id) if self.detail is not None and self.detail.job.id in ids else 0

    def _step(self, by: int) -> None:
        found = self._conversions()
        place = self._place() + by
        if 0 <= place < len(found):
            self._chosen = place < len(found) - 1
            self._show(found[place])

    def _pick(self) -> None:
        found = self._conversions()
        if found and (self.detail is None or (not self._chosen and found[-1].id != self.detail.job.id)):
            self._show(found[-1])

    def _show(self, job: JobSummary) -> None:
        self.detail = JobDetail(self.explorer.jobs.get(job.id, job))
        self._follow(self.detail)
        for part in ("#main", "#side"):
            self.query_one(part).scroll_home(animate=False)
        self._draw()

    def _follow(self, detail: JobDetail) -> None:
        job_id = detail.job.id
        if self.engine is not None:
            if detail.spec is None:
                self.ask(self.engine.spec(job_id), lambda spec: SpecRead(job_id, spec), group="spec")
            events = self.engine.follow(job_id, detail.last_seq)
            self.stream(events, lambda found: ConversionEvents(job_id, found), group="follow")

    def _draw(self) -> None:
        detail = self.detail
        self.query_one("#empty").display = detail is None
        self.query_one("#head").display = detail is not None
        self.query_one("#body").display = detail is not None
        self.refresh_bindings()
        if detail is None:
            return
        found = len(self._conversions())
        place = f" · {self._place() + 1} of {found}" if found > 1 else ""
        self.query_one("#head", Lines).show(head_rows(detail, place, max(30, self.size.width - 2)))
        wide = self.has_class("-wide")
        width = max(30, self.size.width - (SIDE_ROOM if wide else 0) - 3)
        proof = body_rows(detail, width, self._home, self.prove)
        asked = self._asked_part(SIDE_ROOM - 4 if wide else width, wide)
        made = made_rows(self.result, SIDE_ROOM - 4 if wide else width)
        self.query_one("#proof", Lines).show(apart(proof) if wide else apart(asked, proof, made))
        self.query_one("#asked", Lines).show(apart(asked, made) if wide else [])

    def _asked_part(self, width: int, wide: bool) -> list[Content]:
        if self.asked is None:
            return []
        return (asked_rows if wide else asked_paragraph)(self.asked, self.explorer.jobs, width)
