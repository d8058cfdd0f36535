"""What every screen shares: top line, a line for trouble, the body, the keys; and the hooks that bring it data.

To write a screen: set `SECTION`, `BINDINGS = bindings(SECTION)` and `CSS_PATH`, give the widgets in `compose_body`, and override
`engine_changed`, `jobs_changed` and `inventory_changed` as needed. Long calls go through `ask`, streams through `stream`; both
run in workers that only post messages, and the screen's handlers change widgets. List its actions in `screens/actions.py`. A
`show_job(job)` method is called when a person opens a job of the kinds that `ExplorerApp.open_job` sends to this screen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Mount, Resize
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker

from explorer.errors import ExplorerError
from screens.actions import applies
from screens.link import LOST, batches
from screens.narrow import NarrowCompositor
from screens.widgets.bars import KeyBar, TopBar

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary
    from explorer.schemas.readings import Inventory
    from screens.app import ExplorerApp

T = TypeVar("T")
SMALLEST = (60, 16)
UPDATE_S = 0.25


class ExplorerScreen(Screen[None]):
    """A screen of the top bar. `-narrow` or `-wide` (100 columns) and `-short` or `-tall` (32 rows) are set as classes."""

    SECTION: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-short"), (32, "-tall")]  # noqa: RUF012
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = NarrowCompositor()

    @property
    def explorer(self) -> ExplorerApp:
        """The app with its own type."""
        return cast("ExplorerApp", self.app)

    @property
    def engine(self) -> Engine | None:
        return self.explorer.engine

    @property
    def connected(self) -> bool:
        """Whether the engine answers; for `when` of actions."""
        return self.engine is not None

    def compose(self) -> ComposeResult:
        yield TopBar(self.SECTION)
        yield Static(id="link", markup=False)
        yield Static(f"This needs {SMALLEST[0]} × {SMALLEST[1]} characters.\nMake the terminal larger.", id="too-small")
        yield from self.compose_body()
        yield KeyBar()

    def compose_body(self) -> ComposeResult:
        """The widgets between the top line and the keys."""
        yield from ()

    def engine_changed(self, engine: Engine | None) -> None:
        """The engine answers, or (None) no longer does. Called once after mounting, too."""

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        """Some jobs changed; `self.explorer.jobs` holds them all."""

    def inventory_changed(self, inventory: Inventory) -> None:
        """The machine's readings came or changed."""

    def ask(self, call: Awaitable[T], then: Callable[[T], Message], group: str) -> Worker[None]:
        """Await `call` in a worker (a newer one of the same `group` replaces it) and post `then(answer)`; an error is shown."""
        return self.run_worker(self._asked(call, then), group=group, exclusive=True, exit_on_error=True)

    def stream(self, source: AsyncIterator[T], then: Callable[[list[T]], Message], group: str) -> Worker[None]:
        """Post `then(items)` at most every 0.25 s while `source` gives any; a newer stream of the same `group` replaces it."""
        return self.run_worker(self._streamed(source, then), group=group, exclusive=True, exit_on_error=True)

    def say_error(self, error: ExplorerError) -> None:
        """Show what went wrong and what to do, in a corner, for a while."""
        self.notify(error.remedy or "", title=error.message, severity="error", timeout=10, markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return applies(self, self.SECTION, action)

    def on_mount(self, event: Mount) -> None:
        app = self.explorer
        app.link_signal.subscribe(self, self._link_changed)
        app.jobs_signal.subscribe(self, self._jobs_changed)
        app.inventory_signal.subscribe(self, self._inventory_changed)
        self._link_changed(app.engine)
        if app.inventory is not None:
            self._inventory_changed(app.inventory)

    def on_resize(self, event: Resize) -> None:
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(small, "-too-small")

    async def _asked(self, call: Awaitable[T], then: Callable[[T], Message]) -> None:
        try:
            self.post_message(then(await call))
        except ExplorerError as error:
            self.say_error(error)

    async def _streamed(self, source: AsyncIterator[T], then: Callable[[list[T]], Message]) -> None:
        try:
            async with aclosing(batches(source, UPDATE_S)) as found:
                async for items in found:
                    self.post_message(then(items))
        except LOST:
            return  # the app's own watch notices the same and says so

    def _link_changed(self, engine: Engine | None) -> None:
        line = self.query_one("#link", Static)
        line.update(self.explorer.link_line)
        line.display = engine is None
        line.set_class(self.explorer.link_lost, "-lost")
        self._draw_jobs()
        self.engine_changed(engine)
        self.refresh_bindings()

    def _jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        self._draw_jobs()
        self.jobs_changed(changes)
        self.refresh_bindings()

    def _draw_jobs(self) -> None:
        bar = self.query_one(TopBar)
        bar.running = self.explorer.running
        bar.draw()

    def _inventory_changed(self, inventory: Inventory) -> None:
        bar = self.query_one(TopBar)
        bar.machine = self.explorer.machine
        bar.draw()
        self.inventory_changed(inventory)
