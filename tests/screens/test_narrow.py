"""Narrow updates leave the same picture as a full repaint, in a fraction of the bytes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rich.console import Console
from textual._compositor import ChopsUpdate
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Region
from textual.pilot import Pilot

from screens.app import ExplorerApp
from screens.base import ExplorerScreen
from screens.narrow import NarrowUpdate
from screens.widgets.lines import Lines
from tests.fakes import FakeEngine, connected
from tests.screens.helpers import screen_text, until

PARTS = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[[0-9;]*m|(.)", re.DOTALL)


class TwoColumns(ExplorerScreen):
    """Rows beside rows, one with a sign two cells wide."""

    def compose_body(self) -> ComposeResult:
        with Horizontal():
            yield Lines(["0123456789"] * 3, id="left")
            yield Lines([Content.assemble(("ab", "bold"), "cd日本ef"), "0123456789"], id="right")


def applied(text: str, update: str) -> str:
    """The picture `text` after what is written to the terminal."""
    rows = [list(row.ljust(80)) for row in text.split("\n")]
    x = y = 0
    for row, column, character in PARTS.findall(update):
        if row:
            x, y = int(column) - 1, int(row) - 1
        elif character:
            rows[y][x] = character
            x += 1
    return "\n".join("".join(row).rstrip() for row in rows)


async def test_only_what_changed_is_written_and_the_picture_is_right() -> None:
    async with screen() as pilot:
        left = pilot.app.screen.query_one("#left", Lines)
        before = screen_text(pilot)
        left._rows[1] = Content("01234X6789")
        written = partial_update(pilot, left, Region(5, 1, 1, 1))
        assert PARTS.sub(lambda part: part[3] or "", written) == "X"
        assert applied(before, written) == screen_text(pilot)


async def test_spans_of_two_widgets_in_one_row() -> None:
    async with screen() as pilot:
        left, right = (pilot.app.screen.query_one(name, Lines) for name in ("#left", "#right"))
        before = screen_text(pilot)
        left._rows[1], right._rows[1] = Content("A123456789"), Content("012345678B")
        left.refresh(Region(0, 1, 1, 1))
        written = partial_update(pilot, right, Region(9, 1, 1, 1))
        assert PARTS.sub(lambda part: part[3] or "", written) == "AB"
        assert applied(before, written) == screen_text(pilot)


def partial_update(pilot: Pilot[Any], widget: Lines, region: Region) -> str:
    """What a refresh of this region writes."""
    widget.refresh(region)
    compositor = pilot.app.screen._compositor
    compositor.update_widgets(
        {widget for widget in pilot.app.screen.query(Lines) if widget._repaint_required or widget._dirty_regions}
    )
    update = compositor.render_partial_update()
    assert isinstance(update, NarrowUpdate)
    wide = ChopsUpdate(update.chops, update.spans, update.chop_ends).render_segments(Console(color_system="truecolor"))
    narrow = update.render_segments(Console(color_system="truecolor"))
    assert len(narrow) < len(wide)
    return narrow


@asynccontextmanager
async def screen() -> AsyncIterator[Pilot[None]]:
    """The app with these two columns."""
    app = ExplorerApp(connected(FakeEngine()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.engine is not None)
        await app.push_screen(TwoColumns())
        await pilot.pause()
        yield pilot
