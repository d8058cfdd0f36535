"""Choosing a second model: those of finished jobs, recent files, or any file from the folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.schemas.jobs import JobSummary
from screens.actions import bindings
from screens.models_start import start_rows
from screens.recent import recent_sources, remember
from screens.widgets.bars import KeyBar
from screens.widgets.row_list import Row, RowList

FROM_FOLDERS = "folders"


class ModelChoice(ModalScreen[str | None]):
    """Gives the source of the chosen model, or None. `without` is the model that it is compared with."""

    SECTION = "choice"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("choice")]
    DEFAULT_CSS = "ModelChoice VerticalScroll { height: 1fr; padding: 1 1 0 1; }"

    def __init__(self, title: str, jobs: Iterable[JobSummary], without: str, folder: Path) -> None:
        super().__init__()
        self._heading = title
        self._folder = folder
        others = [job for job in jobs if f"job:{job.id}" != without]
        recent = [source for source in recent_sources() if source != without]
        self._offers = start_rows(others, recent, samples=False)

    def compose(self) -> ComposeResult:
        yield Static(self._heading, classes="dialog-title", markup=False)
        with VerticalScroll(can_focus=False):
            yield RowList()
        yield KeyBar()

    def on_mount(self) -> None:
        first = [Row(FROM_FOLDERS, "choose a file from the folders …"), Row("gap", "", heading=True)]
        self.query_one(RowList).fill([*first, *self._offers])

    def action_up(self) -> None:
        self.query_one(RowList).move(-1)

    def action_down(self) -> None:
        self.query_one(RowList).move(1)

    def action_enter(self) -> None:
        chosen = self.query_one(RowList).selected
        if chosen == FROM_FOLDERS:
            self.action_folders()
        else:
            self.dismiss(chosen)

    def action_folders(self) -> None:
        from screens.widgets.file_picker import FilePicker

        self.app.push_screen(FilePicker(self._folder), self._picked)

    def action_close(self) -> None:
        self.dismiss(None)

    def _picked(self, path: Path | None) -> None:
        if path is not None:
            remember(str(path))
            self.dismiss(str(path))
