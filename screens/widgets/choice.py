"""A choice among a few words in one row, made with left and right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

ROOM = 48


class Choice(Widget, can_focus=True):
    """All choices when they fit, `(•) auto  ( ) cpu`, else the chosen one between arrows. `value` is the chosen word."""

    DEFAULT_CSS = """
    Choice { height: 1; width: 1fr; }
    Choice:focus { background: $boost; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "step(1)", "next choice", show=False),
        Binding("left", "step(-1)", "choice before", show=False),
    ]

    value: reactive[str] = reactive("")

    @dataclass
    class Changed(Message):
        """Another word was chosen."""

        choice: "Choice"
        value: str

        @property
        def control(self) -> "Choice":
            return self.choice

    def __init__(self, choices: Sequence[str], value: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.choices = list(choices)
        self.set_reactive(Choice.value, value)

    def action_step(self, by: int) -> None:
        place = self.choices.index(self.value) if self.value in self.choices else 0
        self.value = self.choices[(place + by) % len(self.choices)]

    def watch_value(self, value: str) -> None:
        self.post_message(self.Changed(self, value))

    def render(self) -> Content:
        if sum(len(item) + 6 for item in self.choices) > min(ROOM, self.content_size.width or ROOM):
            return Content.assemble(("‹ ", "$muted"), (self.value, "bold"), (" ›", "$muted"))
        parts: list[tuple[str, str]] = []
        for item in self.choices:
            chosen = item == self.value
            parts.append((f"({'•' if chosen else ' '}) {item}  ", "bold" if chosen else "$muted"))
        return Content.assemble(*parts)
