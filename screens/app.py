"""The program on the terminal: six screens, one connection, and a clean way out."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.events import Mount
from textual.screen import Screen
from textual.signal import Signal

from screens.actions import SCOPES, SECTIONS, actions_of, applies, bindings, key_name
from screens.link import Connect, EngineFound, EngineLost, JobsChanged, keep_connected
from screens.theme import DARK, OWN_VARIABLES, PLAIN

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary
    from explorer.schemas.readings import Inventory

CONNECTING = "connecting to the engine…"
PENDING_S = 1.0
# Where a job of each kind is shown; others go to Experiments.
SECTION_OF_KIND = {
    "train": "train",
    "convert": "convert",
    "quantize": "lab",
    "prune": "lab",
    "benchmark": "lab",
    "ceilings": "hardware",
    "diff": "models",
    "verify": "models",
    "layers": "models",
    "match": "models",
    "values": "models",
}


def _screen(section: str) -> Callable[[], Screen[None]]:
    """Makes the screen of a section when it is first shown; its module is imported then and not before."""

    def make() -> Screen[None]:
        made: Screen[None] = getattr(import_module(f"screens.{section}"), f"{section.title()}Screen")()
        return made

    return make


class ExplorerApp(App[None]):
    """Give it a way to connect; it connects after the first paint and again whenever the engine is lost.

    With `watch` it opens on the runs that any trainer logs at or below that path.

    Screens read `engine`, `jobs` (by ID, oldest first) and `inventory`, and hear of changes through the three signals.
    """

    TITLE = "explorer"
    CSS_PATH = "app.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {section: _screen(section) for section in SECTIONS}
    DEFAULT_MODE = "hardware"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app")]

    def __init__(self, connect: Connect, watch: str | None = None) -> None:
        # Textual chooses its colour filter while it starts, before a theme can be set.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self._connect_engine = connect
        self._watched = watch
        self.register_theme(DARK)
        self.register_theme(PLAIN)
        self.theme = PLAIN.name if self.no_color else DARK.name
        self.engine: Engine | None = None
        self.jobs: dict[str, JobSummary] = {}
        self.inventory: Inventory | None = None
        self.machine = ""
        self.link_line = CONNECTING
        self.link_lost = False
        self.link_signal: Signal[Engine | None] = Signal(self, "link")
        self.jobs_signal: Signal[list[JobSummary | JobRemoved]] = Signal(self, "jobs")
        self.inventory_signal: Signal[Inventory] = Signal(self, "inventory")

    @property
    def running(self) -> int:
        """Jobs that run, wait or are paused."""
        return sum(job.active for job in self.jobs.values())

    def on_mount(self, event: Mount) -> None:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, self.exit)
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        if self._watched is not None:
            from screens.watch import WatchScreen

            await self.switch_mode("train")
            await self.push_screen(WatchScreen(self._watched))
        self.run_worker(keep_connected(self._connect_engine, self.post_message), group="link", exclusive=True)

    def on_engine_found(self, message: EngineFound) -> None:
        self.engine, self.link_lost, self.link_line = message.engine, False, ""
        self.jobs.clear()
        self.link_signal.publish(message.engine)
        self.read_inventory()

    def on_engine_lost(self, message: EngineLost) -> None:
        self.engine, self.link_lost = None, True
        self.link_line = f"✗ the engine does not answer ({message.reason}); jobs go on, trying again each second"
        self.link_signal.publish(None)

    def on_jobs_changed(self, message: JobsChanged) -> None:
        from explorer.schemas.jobs import JobSummary

        for change in message.changes:
            if isinstance(change, JobSummary):
                self.jobs[change.id] = change
            else:
                self.jobs.pop(change.id, None)
        self.jobs_signal.publish(message.changes)

    def read_inventory(self) -> None:
        """Ask for the machine's readings, again while some are pending."""
        self.run_worker(self._read_inventory(), group="inventory", exclusive=True)

    async def _read_inventory(self) -> None:
        from explorer.errors import ExplorerError
        from screens.widgets.bars import machine_line

        pending = True
        while pending and self.engine is not None:
            try:
                inventory = await self.engine.inventory()
            except (ExplorerError, OSError, EOFError):
                return  # a lost engine is noticed, said and mended by the link
            self.inventory, self.machine = inventory, machine_line(inventory)
            self.inventory_signal.publish(inventory)
            pending = any(reading.state == "pending" for reading in inventory.readings.values())
            if pending:
                await asyncio.sleep(PENDING_S)

    def action_show(self, section: str) -> None:
        self.switch_mode(section)

    async def open_job(self, job: JobSummary) -> None:
        """Show a job on the screen made for its kind."""
        await self.switch_mode(SECTION_OF_KIND.get(job.kind, "experiments"))
        show_job = getattr(self.screen, "show_job", None)
        if show_job is not None:
            show_job(job)

    def action_jobs(self) -> None:
        from screens.jobs import JobsScreen

        self.push_screen(JobsScreen())

    def action_keys(self) -> None:
        from screens.help import HelpScreen

        self.push_screen(HelpScreen(*self._scopes(self.screen)))

    def action_leave(self) -> None:
        self.exit(message=self._farewell())

    def _farewell(self) -> str:
        if not self.running:
            return ""
        jobs = "1 job goes" if self.running == 1 else f"{self.running} jobs go"
        return f"{jobs} on in the background; `explorer` shows them again."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return applies(self, "app", action)

    @staticmethod
    def _scopes(screen: Screen[Any]) -> tuple[str, ...]:
        """The scopes of a screen's actions: its section, and what it shows."""
        return (getattr(screen, "SECTION", ""), *getattr(screen, "MORE_SECTIONS", ()))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every action of the registry that applies now, named `Section: label`."""
        nodes: list[tuple[str, Screen[Any] | App[None]]] = [(scope, screen) for scope in self._scopes(screen)]
        for scope, node in (*nodes, ("app", self)):
            for action in actions_of(scope):
                if action.id == "app.palette" or not applies(node, scope, action.method):
                    continue
                title = SECTIONS.get(scope, SCOPES.get(scope, "explorer"))
                name = f"{title}: {action.label}  ({key_name(action.keys[0])})"
                yield SystemCommand(name, action.help, _runner(self, action.textual_action, node))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return OWN_VARIABLES


def _runner(app: App[None], action: str, node: Screen[Any] | App[None]) -> Callable[[], Any]:
    async def run() -> None:
        await app.run_action(action, node)

    return run


def run(connect: Connect, mouse: bool = True, watch: str | None = None) -> int:
    """Show the screens until the user leaves, first the runs at or below `watch` if given; gives the process's exit code."""
    app = ExplorerApp(connect, watch)
    app.run(mouse=mouse)
    return app.return_code or 0
