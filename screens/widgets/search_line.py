"""A line to filter the list below it, live, while one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.actions import bindings
from screens.widgets.bars import KeyBar

SEARCH_BINDINGS: list[BindingType] = [*bindings("search")]


class SearchInput(Input):
    """Hands enter, down and escape to the line; a plain `Input` keeps enter to itself."""

    BINDINGS: ClassVar[list[BindingType]] = SEARCH_BINDINGS

    async def action_keep(self) -> None:
        await self.screen.run_action("keep")

    async def action_clear(self) -> None:
        await self.screen.run_action("clear")


class SearchLine(ModalScreen[None]):
    """Calls `changed(text)` at each key; enter keeps the filter, escape empties it. Lies over the last row of the screen."""

    SECTION = "search"
    BINDINGS: ClassVar[list[BindingType]] = SEARCH_BINDINGS
    CSS = """
    SearchLine { background: transparent; align: left bottom; }
    SearchLine Horizontal { height: 1; background: $panel; padding: 0 1; }
    SearchLine Static { width: 9; text-style: bold; color: $primary; }
    SearchLine Input { width: 1fr; background: $boost; }
    """

    def __init__(self, text: str, changed: Callable[[str], object]) -> None:
        super().__init__()
        self._text = text
        self._changed = changed

    def compose(self) -> ComposeResult:
        box = SearchInput(self._text, compact=True)
        box.cursor_blink = False
        with Horizontal():
            yield Static("/ filter")
            yield box
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._changed(event.value.strip())

    def action_keep(self) -> None:
        self.dismiss(None)

    def action_clear(self) -> None:
        self._changed("")
        self.dismiss(None)
