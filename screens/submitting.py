"""Asking for a spec and running it, for screens that start jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from screens.base import ExplorerScreen

if TYPE_CHECKING:
    from explorer.schemas.jobs import Command, JobSummary
    from explorer.schemas.specs import Spec


@dataclass
class Submitted(Message):
    """The engine took a new job."""

    job: JobSummary


@dataclass
class Controlled(Message):
    """The engine took a command."""

    job: JobSummary


class Submitting(ExplorerScreen):
    """Mix in to open a form for a spec and submit it; the job then opens on the screen made for its kind."""

    def ask_spec(self, title: str, spec_type: type[Spec], values: Mapping[str, Any]) -> None:
        """Open the form filled with `values`; what comes of it is submitted."""
        from screens.widgets.spec_form import SpecDialog

        self.app.push_screen(SpecDialog(title, spec_type, values), self.submit)

    def submit(self, spec: Spec | None) -> None:
        """Give a spec to the engine."""
        if spec is not None and self.engine is not None:
            self.ask(self.engine.submit(spec), Submitted, group="submit")

    async def on_submitted(self, message: Submitted) -> None:
        await self.explorer.open_job(message.job)

    def ask_cancel(self, job: JobSummary) -> None:
        """Stop a job after a question."""
        from screens.dialogs import ConfirmDialog
        from screens.job_words import short_id

        question = f"Stop {job.kind} of {job.model} (job {short_id(job.id)})?"
        self.app.push_screen(ConfirmDialog(question), lambda yes: self.control(job, "cancel") if yes else None)

    def control(self, job: JobSummary, command: Command) -> None:
        """Send a command to a job."""
        if self.engine is not None:
            self.ask(self.engine.control(job.id, command), Controlled, group="control")
