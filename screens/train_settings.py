"""A dialog that sets the learning rate and the log interval of a running training exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from screens.actions import bindings
from screens.widgets.bars import KeyBar

if TYPE_CHECKING:
    from explorer.schemas.jobs import Setting

SETTING_BINDINGS: list[BindingType] = [item for item in bindings("form") if "group" not in str(item.id)]
Settings = dict["Setting", float]
RATE, INTERVAL = "learning_rate", "log_every_steps"
HELP = "An empty field stays as it is. The rate is this one from the next step on; the schedule goes on from there, scaled."


class SettingInput(Input):
    """A field whose up, down and enter belong to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = SETTING_BINDINGS

    def action_run(self) -> None:
        self._dialog.action_run()

    def action_previous(self) -> None:
        self.screen.focus_previous("Input")

    def action_next(self) -> None:
        self.screen.focus_next("Input")

    def action_close(self) -> None:
        self._dialog.action_close()

    @property
    def _dialog(self) -> SettingsDialog:
        assert isinstance(self.screen, SettingsDialog)
        return self.screen


class SettingsDialog(ModalScreen["Settings | None"]):
    """Two fields with what holds now; gives the settings that were filled in, or None."""

    SECTION = "form"
    BINDINGS: ClassVar[list[BindingType]] = SETTING_BINDINGS
    DEFAULT_CSS = """
    SettingsDialog Horizontal { height: 1; }
    SettingsDialog Label { width: 20; }
    SettingsDialog Input { width: 1fr; background: $boost; }
    SettingsDialog .note { height: auto; margin-top: 1; color: $muted; }
    SettingsDialog .note.-wrong { color: $error; }
    """

    def __init__(self, rate: float | None, interval: int | None) -> None:
        super().__init__()
        self._now = {RATE: "" if rate is None else f"now {rate:.4g}", INTERVAL: "" if interval is None else f"now {interval}"}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            for name in (RATE, INTERVAL):
                with Horizontal():
                    yield Label(name.replace("_", " "))
                    box = SettingInput(placeholder=self._now[name], compact=True, id=f"set-{name}")
                    box.cursor_blink = False
                    yield box
            yield Static(HELP, classes="note", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query(SettingInput).first().focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._say(problem(self._texts()))

    def action_run(self) -> None:
        texts = self._texts()
        if found := problem(texts):
            self._say(found)
        else:
            self.dismiss(settings(texts) or None)

    def action_close(self) -> None:
        self.dismiss(None)

    def _texts(self) -> dict[Setting, str]:
        return {
            "learning_rate": self.query_one(f"#set-{RATE}", Input).value.strip(),
            "log_every_steps": self.query_one(f"#set-{INTERVAL}", Input).value.strip(),
        }

    def _say(self, wrong: str) -> None:
        note = self.query_one(".note", Static)
        note.update(f"✗ {wrong}" if wrong else HELP)
        note.set_class(bool(wrong), "-wrong")


def settings(texts: dict[Setting, str]) -> Settings:
    """The numbers that were filled in."""
    return {name: float(text) for name, text in texts.items() if text}


def problem(texts: dict[Setting, str]) -> str:
    """What is wrong with the fields in a few words; empty when nothing is."""
    for name, text in texts.items():
        label = name.replace("_", " ")
        try:
            value = float(text or 1)
        except ValueError:
            return f"{label}: {text} is not a number"
        if not (math.isfinite(value) and value > 0):
            return f"{label}: a number above 0"
        if name == INTERVAL and value != int(value):
            return f"{label}: a whole number of steps"
    return ""
