"""The Hardware screen: what this machine can compute with, why not when not, and how busy it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize, ScreenResume, ScreenSuspend
from textual.message import Message

from screens.actions import bindings
from screens.base import ExplorerScreen
from screens.widgets.history import History
from screens.widgets.lines import Lines
from screens.widgets.row_list import RowList

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.readings import HardwareSample, Inventory, Reading

GIB = 1024**3


@dataclass
class Sampled(Message):
    """Live values, oldest first."""

    samples: list[HardwareSample]


class HardwareScreen(ExplorerScreen):
    """Readings with state and source; the live values are watched only while this screen is on top."""

    SECTION = "hardware"
    CSS_PATH = "hardware.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("hardware")]

    def compose_body(self) -> ComposeResult:
        yield Lines([""], id="machine")
        with VerticalScroll(id="readings", can_focus=False):
            yield RowList()
        yield Lines([""], id="source")
        with Horizontal(id="live"):
            yield History("CPU", id="cpu")
            yield History("Memory", id="memory")

    @property
    def filled(self) -> bool:
        """Whether there are readings; for `when` of actions."""
        return self.explorer.inventory is not None

    def engine_changed(self, engine: Engine | None) -> None:
        if engine is not None and self.is_current:
            self._watch(engine)
        if not self.filled:
            self.query_one("#machine", Lines).show([Content.assemble(("reading the hardware…", "$muted"))])

    def inventory_changed(self, inventory: Inventory) -> None:
        from screens.hardware_rows import heading, rows

        self.query_one("#machine", Lines).show([Content.assemble((heading(inventory), "bold"))])
        listing = self.query_one(RowList)
        listing.fill(rows(inventory, self.size.width - 4))
        self._show_source()

    def on_screen_resume(self, event: ScreenResume) -> None:
        if self.engine is not None:
            self._watch(self.engine)

    def on_screen_suspend(self, event: ScreenSuspend) -> None:
        self.workers.cancel_group(self, "hardware")

    def on_resize(self, event: Resize) -> None:
        if self.explorer.inventory is not None and self.is_mounted:
            self.call_after_refresh(self.inventory_changed, self.explorer.inventory)

    def _watch(self, engine: Engine) -> None:
        self.stream(engine.watch_hardware(), Sampled, group="hardware")

    def on_sampled(self, message: Sampled) -> None:
        from screens.text import memory

        for sample in message.samples:
            cpu, used = _value(sample.readings.get("cpu.use")), _value(sample.readings.get("memory.used_bytes"))
            self.query_one("#cpu", History).add(
                None if cpu is None else cpu / 100, _now(sample.readings.get("cpu.use"), None if cpu is None else f"{cpu:.0f} %")
            )
            total = self._memory_bytes()
            words = None if used is None else memory(used) + (f" of {memory(total)}" if total else "")
            share = used / total if used is not None and total else None
            self.query_one("#memory", History).add(share, _now(sample.readings.get("memory.used_bytes"), words))

    def action_up(self) -> None:
        self.query_one(RowList).move(-1)
        self._show_source()

    def action_down(self) -> None:
        self.query_one(RowList).move(1)
        self._show_source()

    def action_details(self) -> None:
        from screens.dialogs import TextDialog
        from screens.hardware_rows import detail_lines, label_of

        inventory, name = self.explorer.inventory, self.query_one(RowList).selected
        if inventory is not None and name is not None:
            self.app.push_screen(TextDialog(label_of(inventory, name), detail_lines(inventory, name)))

    def action_reload(self) -> None:
        self.explorer.read_inventory()

    def _show_source(self) -> None:
        inventory, name = self.explorer.inventory, self.query_one(RowList).selected
        if inventory is None or name is None:
            return
        reading = inventory.get(name)
        parts = [f"{name}  source {reading.source or 'not named'}"] + ([reading.reason] if reading.reason else [])
        self.query_one("#source", Lines).show([Content.assemble((" · ".join(parts), "$muted"))])

    def _memory_bytes(self) -> float | None:
        """What this process may use: the smaller of the machine's memory and its limit."""
        inventory = self.explorer.inventory
        found = [] if inventory is None else [inventory.get("memory.total_bytes"), inventory.get("memory.limit_bytes")]
        return min((value for reading in found if (value := _value(reading)) is not None), default=None)


def _value(reading: Reading | None) -> float | None:
    if reading is None or not reading.known or not isinstance(reading.value, int | float):
        return None
    return float(reading.value)


def _now(reading: Reading | None, words: str | None) -> str:
    if words is not None:
        return words
    return "– not reported" if reading is None or not reading.reason else f"– {reading.reason}"
