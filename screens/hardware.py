"""The Hardware screen: what this machine can compute with, why not when not, how busy it is, and what it does at most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Resize, ScreenResume, ScreenSuspend
from textual.message import Message

from screens.actions import bindings
from screens.ceilings import KnowsCeilings, active
from screens.submitting import Submitting
from screens.widgets.lines import Lines
from screens.widgets.machine_view import MachineView

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary
    from explorer.schemas.readings import HardwareSample, Inventory
    from screens.machine import Machine
    from screens.roofline_rows import Curve

READING = "reading the hardware…"


@dataclass
class Sampled(Message):
    """Live values, oldest first."""

    samples: list[HardwareSample]


@dataclass
class RecordedRead(Message):
    """Another machine, from the folder that was chosen."""

    folder: str
    inventory: Inventory


class HardwareScreen(KnowsCeilings, Submitting):
    """Parts in a table, the selected one's page below; live values are watched only while this screen is on top."""

    SECTION = "hardware"
    CSS_PATH = "hardware.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("hardware")]

    def __init__(self) -> None:
        super().__init__()
        self._here: Machine | None = None
        self._other: Machine | None = None

    def compose_body(self) -> ComposeResult:
        yield Lines([""], id="machine")
        yield Lines([], id="job")
        yield MachineView()

    # What applies now, for `when` of actions

    @property
    def machine(self) -> Machine | None:
        """The machine that is shown."""
        return self._other or self._here

    @property
    def filled(self) -> bool:
        return self.machine is not None

    @property
    def recorded(self) -> bool:
        return self._other is not None

    @property
    def can_reload(self) -> bool:
        return self.connected and not self.recorded

    @property
    def can_measure(self) -> bool:
        return self.can_reload and not self.can_cancel

    @property
    def can_cancel(self) -> bool:
        job = active(self.explorer.jobs.values())
        return self.connected and job is not None and job.active

    @property
    def has_ceilings(self) -> bool:
        return not self.recorded and bool(self._roofs())

    @property
    def can_scroll(self) -> bool:
        return self._view.can_scroll

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        if engine is None and self._here is not None:
            self._here.live.pause()
        if engine is not None:
            self.read_ceilings()
        if engine is not None and self.is_current:
            self._watch(engine)
        if not self.filled:
            self.query_one("#machine", Lines).show([Content.assemble((READING, "$muted"))])

    def inventory_changed(self, inventory: Inventory) -> None:
        from screens.machine import Machine

        if self._here is None:
            self._here = Machine(inventory, ceilings=self.ceilings)
        self._here.inventory = inventory
        self._here.live.memory_bytes = self._here.memory_bytes
        self._draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        self.read_ceilings()
        self._draw_job()

    def ceilings_changed(self) -> None:
        if self._here is not None:
            self._here.ceilings = self.ceilings
        self._draw()

    def show_job(self, job: JobSummary) -> None:
        """Show this machine, whose limits the job measures."""
        self.action_back()

    def on_screen_resume(self, event: ScreenResume) -> None:
        if self.engine is not None:
            self._watch(self.engine)

    def on_screen_suspend(self, event: ScreenSuspend) -> None:
        self.workers.cancel_group(self, "hardware")
        if self._here is not None:
            self._here.live.pause()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    def on_sampled(self, message: Sampled) -> None:
        if self._here is None:
            return
        self._here.live.take(message.samples)
        if not self.recorded:
            with self.app.batch_update():
                self._view.show_now(self._here)

    def on_recorded_read(self, message: RecordedRead) -> None:
        from screens.machine import Machine

        self._other = Machine(message.inventory, folder=message.folder)
        self._draw()

    # What a person does

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._view.scroll_page(down=False)

    def action_page_down(self) -> None:
        self._view.scroll_page(down=True)

    def action_details(self) -> None:
        from screens.dialogs import TextDialog
        from screens.hardware_pages import all_rows
        from screens.hardware_rows import title

        machine, part = self.machine, self._view.part
        if machine is not None:
            name = "All readings" if part == "more" else title(machine, part)
            self.app.push_screen(TextDialog(name, all_rows(machine, part, self.size.width - 6)))

    def action_measure(self) -> None:
        from explorer.schemas.specs import CeilingsSpec

        self.ask_spec("Measure what this machine does at most", CeilingsSpec, {})

    def action_cancel(self) -> None:
        job = active(self.explorer.jobs.values())
        if job is not None:
            self.ask_cancel(job)

    def action_roofline(self) -> None:
        from screens.dialogs import TextDialog
        from screens.roofline_rows import roofline_rows

        rows = roofline_rows(self._roofs(), self.size.width - 4, self.size.height - 4)
        self.app.push_screen(TextDialog("What the measured limits allow", rows))

    def action_open(self) -> None:
        from screens.widgets.file_picker import FilePicker

        folder = Path(self._other.folder).parent if self._other is not None else Path.cwd()
        self.app.push_screen(FilePicker(folder, folders="Open the folder of a recorded machine"), self._picked)

    def action_back(self) -> None:
        self._other = None
        self._draw()

    def action_reload(self) -> None:
        self.explorer.read_inventory()

    # What is shown

    @property
    def _view(self) -> MachineView:
        return self.query_one(MachineView)

    def _roofs(self) -> list[Curve]:
        """Those of the selected part, else the CPU's."""
        return self.machine.roofs(self._view.part) if self.machine is not None else []

    def _move(self, by: int) -> None:
        self._view.move(by)
        self._draw()

    def _picked(self, path: Path | None) -> None:
        if path is not None and self.engine is not None:
            folder = str(path)
            self.ask(self.engine.recorded(folder), lambda inventory: RecordedRead(folder, inventory), group="recorded")

    def _watch(self, engine: Engine) -> None:
        self.stream(engine.watch_hardware(), Sampled, group="hardware")

    def _draw(self) -> None:
        machine = self.machine
        if machine is None:
            return
        from screens.hardware_rows import machine_line

        self.query_one("#machine", Lines).show([machine_line(machine, self.size.width - 2)])
        self._draw_job()
        self._view.show(machine)
        self.refresh_bindings()

    def _draw_job(self) -> None:
        job = active(self.explorer.jobs.values())
        if job is None:
            self.query_one("#job", Lines).show([])
            return
        from screens.lab_words import job_rows

        self.query_one("#job", Lines).show(job_rows(job, self.size.width - 2))
