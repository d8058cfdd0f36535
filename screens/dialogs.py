"""Two small dialogs: a question, and a text to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.actions import bindings
from screens.widgets.bars import KeyBar
from screens.widgets.lines import Lines


class ConfirmDialog(ModalScreen[bool]):
    """A question answered with `y` or `n`; gives the answer."""

    SECTION = "confirm"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("confirm")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False)
        yield KeyBar()

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_no(self) -> None:
        self.dismiss(False)


class TextDialog(ModalScreen[None]):
    """A titled text on the whole screen, such as a log or the details of a reading."""

    SECTION = "text"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("text")]

    def __init__(self, title: str, rows: Sequence[Content | str]) -> None:
        super().__init__()
        self._heading = title
        self._lines = list(rows)

    def compose(self) -> ComposeResult:
        yield Static(self._heading, classes="dialog-title", markup=False)
        with VerticalScroll(classes="dialog-body"):
            yield Lines(self._lines)
        yield KeyBar()

    def action_close(self) -> None:
        self.dismiss(None)
