"""What leads from a training to other runs and files: overlay, export, the spec, logs of other trainers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from screens.submitting import Submitting
from screens.text import bytes_
from screens.train_live import LiveTraining

if TYPE_CHECKING:
    from explorer.schemas.results import JobResult
    from explorer.schemas.specs import Spec


@dataclass
class Exported(Message):
    """A history was written."""

    result: JobResult


class Outside(LiveTraining, Submitting):
    """Mix in to reach other runs and files from the training that is shown."""

    # What a person does

    def action_add(self) -> None:
        from screens.train_overlay import OverlayDialog

        if self.run_ is not None:
            jobs = self.explorer.jobs.values()
            self.app.push_screen(OverlayDialog(jobs, list(self.charted.others), self.run_.job.id), self._overlay)

    def action_export(self) -> None:
        from screens.train_export import ExportDialog

        if self.run_ is not None:
            self.app.push_screen(ExportDialog(self.run_.job), self._export)

    def action_copy(self) -> None:
        if self.run_ is not None:
            self.copy_spec(self.run_.job)

    def action_watch(self) -> None:
        from screens.widgets.file_picker import FilePicker

        self.app.push_screen(FilePicker(Path.cwd(), folders="Watch the logs of any trainer below a folder"), self._watch)

    def _overlay(self, source: str | None) -> None:
        from screens.train_overlay import MOST, OTHER_LOG
        from screens.widgets.file_picker import FilePicker

        if source == OTHER_LOG:
            self.app.push_screen(FilePicker(Path.cwd(), any_file="A log of another trainer"), self._overlay_log)
        elif source is not None and source not in self.charted.others and len(self.charted.others) + 1 >= MOST:
            self.notify(f"{MOST} runs are on the chart; take one away first", severity="warning", timeout=4)
        elif source is not None:
            self.toggle_beside(source)

    def _overlay_log(self, path: Path | None) -> None:
        self._overlay(str(path) if path is not None else None)

    def _export(self, spec: Spec | None) -> None:
        if spec is not None and self.engine is not None:
            self.ask(self.engine.answer(spec), Exported, group="export")

    def on_exported(self, message: Exported) -> None:
        from explorer.schemas.export_spec import ExportResult

        result = message.result
        if isinstance(result, ExportResult):
            self.notify(f"{result.output}  {bytes_(result.bytes)}", title="written", timeout=8, markup=False)

    def _watch(self, path: Path | None) -> None:
        if path is not None:
            from screens.watch import WatchScreen

            self.app.push_screen(WatchScreen(str(path)))
