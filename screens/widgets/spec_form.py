"""A form made from a spec's fields: one row each, kept right by the same validation as the command line.

`SpecForm(TrainSpec, {"epochs": 3})` shows every field with its default or the given value. Up and down (or tab) move,
left and right choose, enter or ctrl+r post `SpecForm.Submitted(spec)` once every value is right. Embed it in a screen, or push a
`SpecDialog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import DescendantFocus
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from explorer.errors import ExplorerError
from explorer.schemas.data_source import parse_data_source
from explorer.schemas.fields import SpecField, spec_fields
from explorer.schemas.specs import Spec, parse_spec
from screens.actions import bindings
from screens.widgets.bars import KeyBar
from screens.widgets.choice import Choice

UNSET = "default"
FORM_BINDINGS: list[BindingType] = [item for item in bindings("form") if item.id != "form.close"]


class FieldInput(Input):
    """A text field whose up, down and enter belong to the form; a plain `Input` keeps the arrows to itself."""

    BINDINGS: ClassVar[list[BindingType]] = FORM_BINDINGS

    def action_run(self) -> None:
        self.query_ancestor(SpecForm).action_run()

    def action_previous(self) -> None:
        self.query_ancestor(SpecForm).action_previous()

    def action_next(self) -> None:
        self.query_ancestor(SpecForm).action_next()

    def action_next_group(self) -> None:
        self.query_ancestor(SpecForm).action_next_group()

    def action_previous_group(self) -> None:
        self.query_ancestor(SpecForm).action_previous_group()


class FieldRow(Horizontal):
    """Label, control, and unit or what is wrong."""

    def __init__(self, field: SpecField, value: Any) -> None:
        super().__init__(classes="row")
        self.field = field
        self._value = value

    def compose(self) -> ComposeResult:
        yield Label(self.field.label, classes="label", markup=False)
        yield self._control()
        yield Static(self.field.unit, classes="unit", markup=False)

    def _control(self) -> Widget:
        field, name = self.field, f"field-{self.field.name}"
        if field.type in ("choice", "bool"):
            choices = field.choices if field.type == "choice" else ("yes", "no")
            return Choice([UNSET, *choices] if field.optional else choices, shown(field, self._value), id=name)
        box = FieldInput(shown(field, self._value), placeholder=_placeholder(field), compact=True, id=name)
        box.cursor_blink = False
        return box

    @property
    def control(self) -> Widget:
        """The text field or choice of this row."""
        return self.query_one(f"#field-{self.field.name}")

    @property
    def text(self) -> str:
        """What stands in the control."""
        control = self.control
        return control.value.strip() if isinstance(control, Input | Choice) else ""

    def set_text(self, text: str) -> None:
        control = self.control
        if isinstance(control, Input | Choice):
            control.value = text

    def show_problem(self, problem: str) -> None:
        """Put the problem in the unit's place; empty brings the unit back."""
        note = self.query_one(".unit", Static)
        note.update(f"✗ {problem}" if problem else self.field.unit)
        note.set_class(bool(problem), "-wrong")


class Fields(VerticalScroll, inherit_bindings=False, can_focus=False):
    """Scrolls with the focus; up and down belong to the form."""


class SpecForm(Vertical):
    """The fields of one spec type in groups, with the focused field's help in the last line."""

    DEFAULT_CSS = """
    SpecForm { height: 1fr; }
    SpecForm Fields { height: 1fr; padding: 0 1; }
    SpecForm .group { color: $primary; text-style: bold; margin-top: 1; height: 1; }
    SpecForm .row { height: 1; }
    SpecForm .label { width: 24; color: $foreground; padding: 0 1 0 0; }
    SpecForm Input { width: 2fr; max-width: 52; background: $panel; }
    SpecForm Input:focus { background: $boost; background-tint: $boost 0%; }
    SpecForm Choice { width: 2fr; max-width: 52; }
    SpecForm .unit { width: 1fr; padding: 0 0 0 1; color: $muted; }
    SpecForm .unit.-wrong { color: $error; text-style: bold; }
    SpecForm .help { height: 3; padding: 0 1; color: $muted; border-top: solid $rule; }
    SpecForm .help.-wrong { color: $error; }
    """

    BINDINGS: ClassVar[list[BindingType]] = FORM_BINDINGS

    @dataclass
    class Submitted(Message):
        """The user asks to run this."""

        spec: Spec

    def __init__(self, spec_type: type[Spec], values: Mapping[str, Any] | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.spec_type = spec_type
        self.kind = str(spec_type.model_fields["kind"].default)
        self.fields = spec_fields(spec_type)
        self._given = dict(values or {})
        self._problems: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        with Fields():
            group = "basic"
            for field in grouped(self.fields):
                if field.group != group:
                    group = field.group
                    yield Label(group, classes="group", markup=False)
                yield FieldRow(field, self._given.get(field.name, field.default))
        yield Static("", classes="help", markup=False)

    def focus_first(self) -> None:
        """Focus the first field."""
        self.query("FieldRow Input, FieldRow Choice").first().focus()

    def set_value(self, name: str, value: Any) -> None:
        """Put a value in a field."""
        row = next(row for row in self.query(FieldRow) if row.field.name == name)
        row.set_text(shown(row.field, value))

    def values(self) -> dict[str, Any]:
        """What is filled in, as plain values under `kind` and the fields' names; an empty field is left out."""
        filled = {row.field.name: parsed(row.field, row.text) for row in self.query(FieldRow)}
        return {"kind": self.kind} | {name: value for name, value in filled.items() if value is not None}

    def spec(self) -> Spec:
        """The validated spec; raises `ExplorerError` naming each wrong field."""
        spec = parse_spec(self.values(), "form")
        if isinstance(data := getattr(spec, "data", None), str):
            check_data(data)
        return spec

    def check(self) -> Spec | None:
        """The spec, or None with the problem shown beside each wrong field."""
        spec: Spec | None = None
        found: dict[str, str] = {}
        try:
            spec = self.spec()
        except ExplorerError as error:
            found = problems(error, [field.name for field in self.fields])
        for row in self.query(FieldRow):
            row.show_problem(found.get(row.field.name, ""))
        self._problems = found
        self._show_help()
        return spec

    def action_run(self) -> None:
        spec = self.check()
        if spec is not None:
            self.post_message(self.Submitted(spec))
        else:
            self._focus_first_problem()

    def action_next(self) -> None:
        self.screen.focus_next(".row Input, .row Choice")

    def action_previous(self) -> None:
        self.screen.focus_previous(".row Input, .row Choice")

    def action_next_group(self) -> None:
        """Go to the first field of the next group, after the last one to the first."""
        self._go_to_group(1)

    def action_previous_group(self) -> None:
        self._go_to_group(-1)

    def _go_to_group(self, by: int) -> None:
        rows = list(self.query(FieldRow))
        groups = list(dict.fromkeys(row.field.group for row in rows))
        here = self._focused_row()
        place = groups.index(here.field.group) if here is not None else 0
        group = groups[(place + by) % len(groups)]
        first = next(row for row in rows if row.field.group == group)
        first.control.focus()

    def _focused_row(self) -> FieldRow | None:
        focused = self.screen.focused
        return next((item for item in focused.ancestors if isinstance(item, FieldRow)), None) if focused is not None else None

    @on(Input.Changed)
    @on(Choice.Changed)
    def _edited(self, event: Message) -> None:
        event.stop()
        self.check()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        self._show_help()

    def _show_help(self) -> None:
        """The focused field's problem, else its help, in the last line."""
        row = self._focused_row()
        if row is None:
            return
        problem = self._problems.get(row.field.name, "")
        line = self.query_one(".help", Static)
        line.update(f"✗ {row.field.label}: {problem}" if problem else help_line(row.field))
        line.set_class(bool(problem), "-wrong")

    def _focus_first_problem(self) -> None:
        for row in self.query(FieldRow):
            if row.query(".-wrong"):
                row.control.focus()
                return


class SpecDialog(ModalScreen[Spec | None]):
    """A whole screen with a form; gives the spec, or None when it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [item for item in bindings("form") if item.id == "form.close"]
    SECTION = "form"

    def __init__(
        self, title: str, spec_type: type[Spec], values: Mapping[str, Any] | None = None, form: SpecForm | None = None
    ) -> None:
        super().__init__()
        self._heading = title
        self._form = form or SpecForm(spec_type, values)

    def compose(self) -> ComposeResult:
        yield Static(self._heading, classes="dialog-title", markup=False)
        yield self._form
        yield KeyBar()

    def on_mount(self) -> None:
        self._form.focus_first()

    def on_spec_form_submitted(self, event: SpecForm.Submitted) -> None:
        self.dismiss(event.spec)

    def action_close(self) -> None:
        self.dismiss(None)


def grouped(fields: list[SpecField]) -> list[SpecField]:
    """Fields in order, those of one group together, the basic ones first."""
    groups = list(dict.fromkeys(["basic", *(field.group for field in fields)]))
    return sorted(fields, key=lambda field: groups.index(field.group))


def shown(field: SpecField, value: Any) -> str:
    """A value as it stands in the control."""
    if field.type == "bool":
        return UNSET if value is None else "yes" if value else "no"
    if field.type == "choice":
        return str(value) if value is not None else UNSET if field.optional else field.choices[0]
    if field.type == "list":
        return ", ".join(str(item) for item in value or [])
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def parsed(field: SpecField, text: str) -> Any:
    """The plain value of a control's text, None when empty; text that is no number stays text for validation to name."""
    if field.type == "bool":
        return None if text == UNSET else text == "yes"
    if field.type == "choice":
        return None if text == UNSET else text
    if field.type == "list":
        return [item.strip() for item in text.split(",") if item.strip()] or None
    if not text:
        return None
    if field.type in ("int", "float"):
        return _number(field, text)
    return text


def check_data(text: str) -> None:
    """Raises `ExplorerError` naming the field when the text that names data has an option that there is not."""
    try:
        parse_data_source(text)
    except ExplorerError as error:
        raise ExplorerError(f"form: data: {error.message.partition(': ')[2]}", error.remedy) from None


def problems(error: ExplorerError, names: list[str]) -> dict[str, str]:
    """The clauses of a validation's message by the field that each begins with."""
    clauses = error.message.partition(": ")[2].split("; ")
    found: dict[str, str] = {}
    for clause in clauses:
        name, _, problem = clause.partition(": ")
        if name.partition(".")[0] in names:
            found.setdefault(name.partition(".")[0], shortened(problem))
    return found


def shortened(problem: str) -> str:
    """A validation's words in the room beside a field, such as `≥ 1`."""
    text = problem.partition(" (given")[0].removeprefix("input should be ")
    for words, sign in (
        ("greater than or equal to", "≥"),
        ("less than or equal to", "≤"),
        ("greater than", ">"),
        ("less than", "<"),
    ):
        text = text.replace(words, sign)
    return "not a number" if text.endswith("unable to parse string as a number") else text.partition(", ")[0]


def help_line(field: SpecField) -> str:
    """Help with the bounds of a field."""
    bounds = ""
    if field.minimum is not None and field.maximum is not None:
        bounds = f" ({field.minimum:g} to {field.maximum:g})"
    elif field.minimum is not None:
        bounds = f" ({field.minimum:g} or more)"
    return f"{field.help}{bounds}"


def _placeholder(field: SpecField) -> str:
    return "" if field.required else "default" if field.default is None else shown(field, field.default)


def _number(field: SpecField, text: str) -> Any:
    try:
        return int(text.replace(",", "").replace("_", "")) if field.type == "int" else float(text)
    except ValueError:
        return text
