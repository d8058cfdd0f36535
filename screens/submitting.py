"""Asking for a spec and running it, for screens that start jobs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from screens.base import ExplorerScreen

if TYPE_CHECKING:
    from explorer.schemas.jobs import Command, JobSummary, Setting
    from explorer.schemas.specs import Spec

COMMANDS = itertools.count(1)


@dataclass
class Submitted(Message):
    """The engine took a new job."""

    job: JobSummary


@dataclass
class Controlled(Message):
    """The engine took a command."""

    job: JobSummary


@dataclass
class SpecCopied(Message):
    """The spec of a job, for the clipboard."""

    spec: Spec


class Submitting(ExplorerScreen):
    """Mix in to open a form for a spec and submit it; the job then opens on the screen made for its kind."""

    def ask_spec(self, title: str, spec_type: type[Spec], values: Mapping[str, Any]) -> None:
        """Open the form filled with `values`; what comes of it is submitted."""
        from screens.convert_form import ConvertDialog
        from screens.widgets.spec_form import SpecDialog

        kind = spec_type.model_fields["kind"].default
        form = ConvertDialog(values) if kind == "convert" else SpecDialog(title, spec_type, values)
        self.app.push_screen(form, self.submit)

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

    def control(self, job: JobSummary, command: Command, values: Mapping[Setting, float] | None = None) -> None:
        """Send a command to a job, with the values of `set`; commands given in a row all go out."""
        if self.engine is not None:
            self.ask(self.engine.control(job.id, command, values), Controlled, group=f"control {next(COMMANDS)}")

    def copy_spec(self, job: JobSummary) -> None:
        """Send a job's spec as TOML to the terminal's clipboard."""
        if self.engine is not None:
            self.ask(self.engine.spec(job.id), SpecCopied, group="copy")

    def on_spec_copied(self, message: SpecCopied) -> None:
        from explorer.schemas.specs import spec_to_toml

        self.app.copy_to_clipboard(spec_to_toml(message.spec))
        self.notify("spec sent to the terminal's clipboard; enter shows it to select by hand", timeout=4)
