"""The form of an export, whose file name follows the format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from explorer.schemas.export_spec import ExportSpec
from screens.job_words import short_id
from screens.widgets.choice import Choice
from screens.widgets.spec_form import SpecDialog, SpecForm

if TYPE_CHECKING:
    from explorer.schemas.jobs import JobSummary

ENDINGS = {"tensorboard": "-events", "csv": ".csv", "jsonl": ".jsonl", "script": ".py"}


class ExportForm(SpecForm):
    """Fits the ending of the output to the format, as long as it is the name that was proposed."""

    def __init__(self, job: JobSummary) -> None:
        self._stem = f"{job.model}-{short_id(job.id)}"
        super().__init__(ExportSpec, {"source": f"job:{job.id}", "output": self._stem + ENDINGS["csv"]})

    @on(Choice.Changed, "#field-to")
    def _format_changed(self, event: Choice.Changed) -> None:
        if str(self.values().get("output", "")) in {self._stem + ending for ending in ENDINGS.values()}:
            self.set_value("output", self._stem + ENDINGS[event.value])


class ExportDialog(SpecDialog):
    """Asks where to write the history of a job, and in which format."""

    def __init__(self, job: JobSummary) -> None:
        super().__init__("Export", ExportSpec, form=ExportForm(job))
