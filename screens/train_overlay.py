"""A dialog that draws other runs beside the one that is shown, and takes them away again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.actions import bindings
from screens.job_words import STATE_STYLES, short_id, when
from screens.widgets.bars import KeyBar
from screens.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from explorer.schemas.jobs import JobSummary

MOST = 8
OTHER_LOG = "other"


class OverlayDialog(ModalScreen[str | None]):
    """The other trainings, newest first, those on the chart marked; gives a source to add or remove, or `OTHER_LOG`."""

    SECTION = "overlay"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("overlay")]

    def __init__(self, jobs: Iterable[JobSummary], shown: Sequence[str], followed: str) -> None:
        super().__init__()
        self._jobs = sorted((job for job in jobs if job.kind == "train" and job.id != followed), key=_age)
        self._shown = shown

    def compose(self) -> ComposeResult:
        yield Static(f"Runs beside this one ({1 + len(self._shown)} of {MOST} on the chart)", classes="dialog-title")
        with VerticalScroll(classes="dialog-body", can_focus=False):
            yield RowList()
        yield KeyBar()

    def on_mount(self) -> None:
        known = {f"job:{job.id}" for job in self._jobs}
        logs = [Row(text, Content.assemble(("● ", "$primary"), text)) for text in self._shown if text not in known]
        jobs = [Row(f"job:{job.id}", training_line(job, f"job:{job.id}" in self._shown)) for job in self._jobs]
        self.query_one(RowList).fill([*logs, *jobs, Row(OTHER_LOG, "  a log of another trainer…")])

    def action_up(self) -> None:
        self.query_one(RowList).move(-1)

    def action_down(self) -> None:
        self.query_one(RowList).move(1)

    def action_choose(self) -> None:
        self.dismiss(self.query_one(RowList).selected)

    def action_close(self) -> None:
        self.dismiss(None)


def training_line(job: JobSummary, shown: bool) -> Content:
    """Whether it is on the chart, when, model, state and its last word."""
    return Content.assemble(
        ("● " if shown else "  ", "$primary"),
        (f"{when(job.created)}  ", "$muted"),
        f"{job.model[:20]:<21}{short_id(job.id):<6}",
        (f"{job.state:<10}", STATE_STYLES[job.state]),
        job.headline,
    )


def _age(job: JobSummary) -> tuple[float, str]:
    return -job.created, job.id
