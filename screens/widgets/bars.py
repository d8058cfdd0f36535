"""The line on top of every screen and the line below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.content import Content
from textual.events import Mount, Resize
from textual.screen import Screen

from screens.actions import BY_ID, SECTIONS, key_name
from screens.widgets.lines import Lines

if TYPE_CHECKING:
    from explorer.schemas.readings import Inventory

NAMED_WIDTH = 100
LAST_KEYS = ("app.jobs", "app.help", "app.quit")


class TopBar(Lines):
    """Where am I, which machine, what runs."""

    DEFAULT_CSS = """
    TopBar { dock: top; height: 1; background: $panel; padding: 0 1; }
    """

    def __init__(self, section: str) -> None:
        super().__init__([""])
        self.section = section
        self.machine = ""
        self.running = 0

    def on_resize(self, event: Resize) -> None:
        self.draw()

    def draw(self) -> None:
        """Lay out names on the left, machine and jobs on the right, as far as the width goes."""
        width = self.content_size.width
        wide = width >= NAMED_WIDTH
        jobs = f"▶ {self.running} job{'' if self.running == 1 else 's'}" if self.running else ""
        left = Content.assemble(("explorer  ", "bold $primary") if wide else "", *self._names())
        if left.cell_length + len(jobs) + 1 > width:
            left = Content.assemble(*self._names(short=True))
        right = Content.assemble((jobs, "bold $success"))
        machine = self.machine
        space = width - left.cell_length - right.cell_length - 4
        if wide and machine and space > 10:
            shown = Content(machine).truncate(space, ellipsis=True)
            right = Content.assemble((shown.plain, "$muted"), "  " if jobs else "", right)
        gap = max(1, width - left.cell_length - right.cell_length)
        self.show([Content.assemble(left, " " * gap, right)])

    def _names(self, short: bool = False) -> list[tuple[str, str]]:
        """Digit and name of each screen; in short, the name of this one only."""
        names = []
        for place, (section, title) in enumerate(SECTIONS.items(), start=1):
            here = section == self.section
            text = f" {place} " if short and not here else f" {place} {title} "
            names.append((text, "bold reverse $primary" if here else "$foreground"))
        return names


def machine_line(inventory: Inventory) -> str:
    """The machine in a few words: host, chip, memory."""
    from screens.text import memory

    parts = [str(reading.value) for name in ("host.name", "chip.name") if (reading := inventory.get(name)).known]
    total = inventory.get("memory.total_bytes")
    if total.known and isinstance(total.value, int | float):
        parts.append(memory(total.value))
    return " · ".join(parts)


class KeyBar(Lines):
    """The keys that work now: as many as fit, those of every screen last."""

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: 1; background: $panel; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__([""])

    def on_mount(self, event: Mount) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self.draw)

    def on_resize(self, event: Resize) -> None:
        self.draw(self.screen)

    def draw(self, screen: Screen[object]) -> None:
        """Show the actions of the registry that are bound, shown and enabled."""
        active: dict[str, tuple[str, str]] = {}
        for bound in screen.active_bindings.values():
            binding = bound.binding
            if binding.id in BY_ID and binding.show and bound.enabled and binding.id not in active:
                active[binding.id] = (_shown_key(binding), binding.description)
        last = [active.pop(name) for name in LAST_KEYS if name in active]
        self.show([_fitted([active[name] for name in sorted(active, key=list(BY_ID).index)], last, self.content_size.width)])


def _shown_key(binding: Binding) -> str:
    keys = BY_ID[binding.id].keys if binding.id else ()
    return key_name(keys[0]) if binding.key in keys else key_name(binding.key)


def _fitted(first: list[tuple[str, str]], last: list[tuple[str, str]], width: int) -> Content:
    needed = sum(_cells(item) for item in last)
    kept: list[tuple[str, str]] = []
    for item in first:
        if needed + _cells(item) > width + 2:
            break
        needed += _cells(item)
        kept.append(item)
    parts: list[str | tuple[str, str]] = []
    for key, label in (*kept, *last):
        parts += [(key, "bold $primary"), f" {label}", "  "]
    return Content.assemble(*parts[:-1])


def _cells(item: tuple[str, str]) -> int:
    return len(item[0]) + len(item[1]) + 3
