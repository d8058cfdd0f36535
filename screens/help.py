"""The help: every key of the screen below it and of the program."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.actions import SCOPES, SECTIONS, Action, actions_of, bindings, key_name
from screens.widgets.bars import KeyBar
from screens.widgets.lines import Lines

KITTY = "Odd signs or keys over SSH? Set TEXTUAL_DISABLE_KITTY_KEY=1 before starting: it turns the newer key protocol off."


class HelpScreen(ModalScreen[None]):
    """Keys by the registry of actions; those that do not apply at the moment are listed, too."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("help")]

    def __init__(self, *sections: str) -> None:
        super().__init__()
        self.sections = sections

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            for section in self.sections:
                if actions_of(section):
                    yield Static(SECTIONS.get(section, SCOPES.get(section, section)), classes="heading")
                    yield Lines([_line(action) for action in actions_of(section)])
                    yield Static("")
            yield Static("Everywhere", classes="heading")
            yield Lines([_line(action) for action in actions_of("app")])
            yield Static("")
            yield Static(KITTY, classes="muted")
        yield KeyBar()

    def action_close(self) -> None:
        self.dismiss(None)


def _line(action: Action) -> Content:
    keys = " or ".join(key_name(key) for key in action.keys)
    return Content.assemble((f"  {keys:<18}", "bold $primary"), action.help)
