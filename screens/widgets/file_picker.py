"""Choose a file by keys: type to filter, enter opens, left goes to the folder above."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from screens.actions import bindings
from screens.folder import Entry, Listing, listing, shown, typed_path
from screens.text import bytes_
from screens.widgets.bars import KeyBar
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView

THIS_FOLDER = "this folder"
PICKER_BINDINGS: list[BindingType] = [*bindings("picker")]


@dataclass
class Listed(Message):
    """A folder was read."""

    found: Listing
    select: str


class TypedInput(Input):
    """What is typed to filter; the picker's keys go past it, left and backspace only while it is empty."""

    BINDINGS: ClassVar[list[BindingType]] = PICKER_BINDINGS

    def action_delete_left(self) -> None:
        if self.value:
            super().action_delete_left()
        else:
            self._picker.action_parent()

    def action_parent(self) -> None:
        if self.value:
            self.action_cursor_left()
        else:
            self._picker.action_parent()

    def action_enter(self) -> None:
        self._picker.action_enter()

    def action_hidden(self) -> None:
        self._picker.action_hidden()

    def action_up(self) -> None:
        self._picker.action_up()

    def action_down(self) -> None:
        self._picker.action_down()

    def action_page_up(self) -> None:
        self._picker.action_page_up()

    def action_page_down(self) -> None:
        self._picker.action_page_down()

    def action_close(self) -> None:
        self._picker.action_close()

    @property
    def _picker(self) -> FilePicker:
        assert isinstance(self.screen, FilePicker)
        return self.screen


class FilePicker(ModalScreen[Path | None]):
    """The files of a folder, models first; gives the chosen path or None. Folders are read in a thread.

    With `folders`, a title, a folder is chosen instead: files are left out and the first row stands for the folder shown. With
    `any_file`, a title, all files are alike.
    """

    SECTION = "picker"
    BINDINGS: ClassVar[list[BindingType]] = PICKER_BINDINGS
    DEFAULT_CSS = """
    FilePicker #where { height: 1; padding: 0 1; }
    FilePicker Horizontal { height: 1; padding: 0 1; }
    FilePicker .label { width: 8; color: $muted; }
    FilePicker Input { width: 1fr; background: $boost; }
    FilePicker #problem { padding: 0 1; height: auto; }
    FilePicker #files { padding: 0 1; border-top: solid $rule; }
    """

    def __init__(self, folder: Path, folders: str = "", any_file: str = "") -> None:
        super().__init__()
        self._folders = folders
        self._any_file = any_file
        self._found = Listing(folder)
        self._folder = folder
        self._hidden = False

    def compose(self) -> ComposeResult:
        yield Static(self._folders or self._any_file or "Open a model file", classes="dialog-title", markup=False)
        yield Lines([""], id="where")
        with Horizontal():
            yield Static("filter", classes="label")
            yield self._box()
        yield Lines([], id="problem")
        yield RowView[Entry](lambda entry: entry.name, entry_row, id="files")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TypedInput).focus()
        self._read(self._found.folder)

    @property
    def files(self) -> RowView[Entry]:
        """The list of files."""
        found: RowView[Entry] = self.query_one("#files", RowView)
        return found

    def on_listed(self, message: Listed) -> None:
        if message.found.problem:
            self._folder = self._found.folder
            self._say(message.found.problem)
            return
        self._found = message.found
        self._say("")
        self._fill()
        self.files.select(message.select) if message.select else self.files.select_place(_first_place(self.files.items))

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value != self.query_one(TypedInput).value:
            return  # more was typed meanwhile; its own event follows
        path = typed_path(event.value, self._folder) if event.value.endswith("/") else None
        if path is not None and path.is_dir():
            self._read(path)
        else:
            self._fill()
            self.files.select_place(0)
            self._say("" if self.files.items else f"no name here holds {event.value}; backspace shows more")

    def action_up(self) -> None:
        self.files.move(-1)

    def action_down(self) -> None:
        self.files.move(1)

    def action_page_up(self) -> None:
        self.files.move_page(-1)

    def action_page_down(self) -> None:
        self.files.move_page(1)

    def action_hidden(self) -> None:
        self._hidden = not self._hidden
        self._fill()

    def action_parent(self) -> None:
        folder = self._folder
        if folder.parent != folder:
            self._read(folder.parent, select=folder.name)

    def action_enter(self) -> None:
        text = self.query_one(TypedInput).value
        path = typed_path(text, self._folder) if text.startswith(("/", "~")) else None
        entry = self.files.selected
        if path is not None:
            enters = path.is_dir() and path.suffix != ".mlpackage" and not self._folders
            self._read(path) if enters else self.dismiss(path)
        elif entry is None:
            return
        elif entry.name == "..":
            self.action_parent()
        elif entry.is_folder and entry.path != self._found.folder:
            self._read(entry.path)
        else:
            self.dismiss(entry.path)

    def action_close(self) -> None:
        self.dismiss(None)

    def _box(self) -> TypedInput:
        box = TypedInput(placeholder="type a part of a name, or a path such as /models/", compact=True)
        box.cursor_blink = False
        return box

    def _read(self, folder: Path, select: str = "") -> None:
        """Go to a folder; what is typed from now on is about it."""
        self._folder = folder.absolute()
        self.query_one(TypedInput).value = ""
        self.run_worker(self._listed(self._folder, select), group="folder", exclusive=True)

    async def _listed(self, folder: Path, select: str) -> None:
        self.post_message(Listed(await asyncio.to_thread(listing, folder), select))

    def _fill(self) -> None:
        found = shown(self._found, self.query_one(TypedInput).value, self._hidden)
        if self._folders:
            here = [] if self.query_one(TypedInput).value else [Entry(THIS_FOLDER, self._found.folder, True, True)]
            found = here + [entry for entry in found if entry.is_folder]
        self.files.fill(found)
        models = sum(entry.is_model for entry in found)
        words = "" if self._folders or self._any_file else f"{models} model file{'' if models == 1 else 's'}"
        self.query_one("#where", Lines).show([Content.assemble((str(self._found.folder), "bold"), (f"   {words}", "$muted"))])

    def _say(self, problem: str) -> None:
        self.query_one("#problem", Lines).show([Content.assemble(("✗ ", "bold $error"), problem)] if problem else [])


def entry_row(entry: Entry, width: int) -> Content:
    """Name on the left, size on the right; other files than models are muted."""
    name = entry.name + ("/" if entry.is_folder and not entry.is_model else "")
    size = "" if entry.is_folder or entry.name == ".." else "package" if entry.bytes is None else bytes_(entry.bytes)
    room = max(10, width - len(size) - 2)
    style = "bold" if entry.is_model else "$primary" if entry.is_folder else "$muted"
    label = Content(name).truncate(room, ellipsis=True)
    gap = " " * max(1, width - label.cell_length - len(size))
    return Content.assemble((label.plain, style), gap, (size, "$muted"))


def _first_place(entries: list[Entry]) -> int:
    """Past the rows of this folder and the one above, when something follows them."""
    above = sum(entry.name in ("..", THIS_FOLDER) for entry in entries[:2])
    return above if len(entries) > above else 0
