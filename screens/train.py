"""The Train screen: start a training, watch it live over its whole length, steer it, compare it, see why it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Mount, Resize

from screens.actions import bindings
from screens.ceiling_words import training_limit
from screens.ceilings import KnowsCeilings
from screens.train_live import REFRESH_S
from screens.train_outside import Outside
from screens.train_steering import Steering
from screens.train_words import facts, headline, side_rows, trouble
from screens.widgets.board import Board
from screens.widgets.facts import Facts
from screens.widgets.lines import Lines

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary
    from explorer.schemas.readings import Inventory

EMPTY = (
    "No training yet.",
    "Press n for a new one; enter in its form starts it with the values shown.",
    "Press w to watch the logs of another trainer: TensorBoard events, CSV or JSON lines.",
)
SIDE_WIDTH = 36


class TrainScreen(Steering, Outside, KnowsCeilings):
    """Shows one training: the latest that runs when opened, else the last that ended."""

    SECTION = "train"
    CSS_PATH = "train.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("train"), *bindings("board")]

    def compose_body(self) -> ComposeResult:
        yield Lines(["", ""], id="head")
        yield Lines(EMPTY, id="empty")
        yield Lines([], id="trouble")
        with Container(id="body"):
            yield Board(id="board")
            with Vertical(id="side"):
                yield Facts()
                yield Lines([], id="notes")

    def on_mount(self, event: Mount) -> None:
        self.set_interval(REFRESH_S, self.refresh_others)

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        self.read_ceilings()
        if engine is not None:
            self.reconnect() if self.run_ is not None else self.pick()
        self.draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        self.read_ceilings()
        self.take_changes(changes)

    def inventory_changed(self, inventory: Inventory) -> None:
        self.draw()

    def ceilings_changed(self) -> None:
        self.draw()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self.draw)

    # What a person does

    def action_new(self) -> None:
        from explorer.schemas.train_spec import TrainSpec

        self.ask_spec("New training", TrainSpec, {})

    def action_details(self) -> None:
        from screens.dialogs import TextDialog
        from screens.train_page import page_rows

        run = self.run_
        if run is not None:
            rows = page_rows(run, self.explorer.inventory, max(20, self.size.width - 6))
            self.app.push_screen(TextDialog(f"Training of {run.job.model}", rows))

    # What is shown

    def draw(self) -> None:
        """Everything but the charts."""
        run = self.run_
        self.query_one("#empty").display = run is None
        self.query_one("#body").display = run is not None
        self.query_one("#head").display = run is not None
        wide = self.has_class("-wide")
        rows = trouble(run, max(20, self.size.width - 4), 6 if self.has_class("-tall") else 2) if run is not None else []
        self.query_one("#trouble").display = bool(rows)
        self.query_one("#side").display = wide or not rows
        if run is None:
            return
        first, second = headline(run)
        limit = training_limit(run.result, self.ceilings) if run.result is not None else ""
        second += f" · {limit}" if limit else ""
        self.query_one("#head", Lines).show([Content.assemble((first, "bold")), second])
        self.query_one("#trouble", Lines).show(rows)
        self.query_one(Facts).set_facts(facts(run, self.explorer.inventory, wide))
        self.query_one("#notes", Lines).show(side_rows(run, SIDE_WIDTH, short=not wide))
