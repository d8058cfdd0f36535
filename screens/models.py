"""The Models screen: open any model file without fear and look at its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from explorer.errors import ExplorerError
from explorer.schemas.jobs import JobRemoved, JobSummary
from explorer.schemas.model_results import InspectResult
from explorer.schemas.specs import InspectSpec, TrainSpec
from screens.actions import bindings
from screens.job_words import find_job
from screens.model_tree import TreeRow
from screens.model_view import ShowsModel
from screens.model_words import column_names, head_lines, tree_line
from screens.models_start import SAMPLES, start_rows
from screens.recent import recent_sources, remember
from screens.result_words import wrapped
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_list import RowList
from screens.widgets.row_view import RowView

if TYPE_CHECKING:
    from explorer.engine.client import Engine

START_HEAD = "Open any model file: it is described without running code from it."
PAGE_WIDTH = 76
START_HINT = "o chooses a file from the folders; enter opens the selected row."


@dataclass
class Opened(Message):
    """A model was described."""

    result: InspectResult


@dataclass
class NotOpened(Message):
    """A model could not be described."""

    source: str
    error: ExplorerError


class ModelsScreen(ShowsModel):
    """A list to start from, or the tensors of the opened model."""

    SECTION = "models"
    CSS_PATH = "models.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("models")]

    def __init__(self) -> None:
        super().__init__()
        self._starting = True
        self._folder: Path | None = None

    def compose_body(self) -> ComposeResult:
        yield Lines([Content.assemble((START_HEAD, "bold")), START_HINT], id="head")
        yield Lines([], id="problem")
        with VerticalScroll(id="start", can_focus=False):
            yield RowList()
        with Container(id="model"):
            with Container(id="tensors"):
                yield Columns(column_names, id="columns")
                yield RowView[TreeRow](lambda row: row.node.path, tree_line, id="tree")
            with VerticalScroll(id="side", can_focus=False):
                yield Lines([], id="facts")

    # What applies now, for `when` of actions

    @property
    def opened(self) -> bool:
        return self.result is not None and not self._starting

    @property
    def filled(self) -> bool:
        return self.opened or self.connected

    @property
    def can_go_back(self) -> bool:
        return self.result is not None and self._starting

    @property
    def folder(self) -> Path:
        files = [source for source in recent_sources() if not source.startswith("job:")]
        return self._folder or (Path(files[0]).parent if files else Path.cwd())

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        self._show()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        self._fill_start()

    def on_opened(self, message: Opened) -> None:
        self.learn(message.result)
        self._starting = False
        remember(message.result.source)
        self.say("")
        self._show()
        self.tensors.select_place(0)

    def on_not_opened(self, message: NotOpened) -> None:
        self.say(message.error.message, message.error.remedy)

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw_sized)

    def open_source(self, source: str) -> None:
        """Describe a model and show it."""
        if self.engine is not None:
            self.say(f"reading {source} …", trouble=False)
            self.run_worker(self._described(self.engine, source), group="open", exclusive=True)

    def show_job(self, job: JobSummary) -> None:
        """Show a job about model files on its page."""
        from screens.model_result import ResultPage

        self.app.push_screen(ResultPage(job))

    async def _described(self, engine: Engine, source: str) -> None:
        try:
            result = await engine.answer(InspectSpec(source=source))
        except ExplorerError as error:
            self.post_message(NotOpened(source, error))
            return
        if isinstance(result, InspectResult):
            self.post_message(Opened(result))

    # What a person does

    def action_open(self) -> None:
        from screens.widgets.file_picker import FilePicker

        self.app.push_screen(FilePicker(self.folder), self._picked)

    def action_start(self) -> None:
        self._starting = True
        self.say("")
        self._show()

    def action_back(self) -> None:
        self._starting = False
        self.say("")
        self._show()

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._move(-1, page=True)

    def action_page_down(self) -> None:
        self._move(1, page=True)

    def action_first(self) -> None:
        self.tensors.select_place(0)

    def action_last(self) -> None:
        self.tensors.select_place(len(self.tensors.items) - 1)

    def action_enter(self) -> None:
        if self._starting:
            self._open_offer(self.query_one(RowList).selected or "")
        elif (row := self.tensors.selected) is None:
            return
        elif row.node.tensor is None:
            self._set_open(row.node.path, not row.is_open)
        else:
            from screens.dialogs import TextDialog

            self.app.push_screen(TextDialog("Tensor", self.tensor_rows(row.node, min(self.size.width - 6, PAGE_WIDTH))))

    # What is shown

    def _picked(self, path: Path | None) -> None:
        if path is not None:
            self._folder = path.parent
            self.open_source(str(path))

    def _open_offer(self, key: str) -> None:
        if key in SAMPLES:
            self.ask_spec("New training", TrainSpec, SAMPLES[key][1])
        elif key:
            self.open_source(key)

    def _move(self, by: int, page: bool = False) -> None:
        if self._starting:
            self.query_one(RowList).move(by * (8 if page else 1))
        elif page:
            self.tensors.move_page(by)
        else:
            self.tensors.move(by)

    def say(self, message: str, remedy: str = "", trouble: bool = True) -> None:
        width = self.size.width - 2
        first = Content.assemble(("✗ ", "bold $error"), (message, "bold")) if trouble else Content(message)
        lines = wrapped(first, width, "  ") if message else []
        lines += wrapped(Content(f"→ {remedy}"), width, "  ") if remedy else []
        self.query_one("#problem", Lines).show(lines)

    def _show(self) -> None:
        self.query_one("#start").display = self._starting
        self.query_one("#model").display = not self._starting
        if self._starting or self.result is None:
            self.query_one("#head", Lines).show([Content.assemble((START_HEAD, "bold")), START_HINT])
            self._fill_start()
        else:
            self.call_after_refresh(self._draw_sized)
        self.refresh_bindings()

    def _draw_sized(self) -> None:
        if self.opened and self.result is not None:
            job = find_job(self.result.source, self.explorer.jobs)
            self.query_one("#head", Lines).show(head_lines(self.result, job, self.size.width - 2))
            self.fill_tree()
            self.draw_side()

    def _fill_start(self) -> None:
        self.query_one(RowList).fill(start_rows(self.explorer.jobs.values(), recent_sources()))
