"""The words above and below the panels of a board: which run is which, how it is drawn, and the values at the cursor."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from screens.text import count, duration, short_count
from screens.widgets.board_panels import LETTERS, STYLES, Panel, label_of, look_of
from screens.widgets.held_run import Axis, HeldRun
from screens.widgets.metrics import value_text
from screens.widgets.scales import Window

LONGEST_NAME = 28
VALUE_WIDTH = 8


def ticks(window: Window, axis: Axis) -> tuple[str, str, str]:
    """The words at the left, the middle and the right of the axis below."""
    start, stop = window
    left, middle, right = (axis_text(x, window, axis) for x in (start, (start + stop) / 2, stop))
    return left, middle, right


def axis_text(x: float, window: Window, axis: Axis) -> str:
    """A place on the axis: as short as the window allows."""
    if axis == "time":
        return "0" if x == 0 else duration(x)
    return short_count(x) if window[1] - window[0] > window[1] / 100 and x >= 10_000 else count(x)


def place_text(x: float, axis: Axis) -> str:
    """The place of the cursor."""
    return f"step {count(x)}" if axis == "step" else f"after {duration(x)}"


def head_rows(runs: Sequence[HeldRun], notes: Sequence[str], width: int) -> list[Content]:
    """A letter for each of several runs with its name, and how the curves are drawn when that is not the usual way."""
    names = [] if len(runs) < 2 else name_items(runs, width)
    said = [Content.assemble((" · ".join(notes), "$muted"))] if notes else []
    return wrapped_items([*names, *said], width, rows=3)


def notes(tau: float, logarithmic: bool, zoom: Window | None, axis: Axis) -> list[str]:
    """How curves are drawn, as far as it is not the usual way."""
    steps = " steps" if axis == "step" else ""
    return [
        *([f"smoothed over {axis_text(tau, (0.0, tau), axis)}{steps}"] if tau else []),
        *(["log scale"] if logarithmic else []),
        *([f"{axis_text(zoom[0], zoom, axis)} to {axis_text(zoom[1], zoom, axis)}{steps}"] if zoom else []),
    ]


def name_items(runs: Sequence[HeldRun], width: int) -> list[Content]:
    """Letters and names; a long name loses its beginning, since paths differ at their ends."""
    room = max(8, min(LONGEST_NAME, 2 * width // len(runs) - 5))
    items = []
    for place, run in enumerate(runs):
        name = run.name if len(run.name) <= room else f"…{run.name[1 - room :]}"
        items.append(Content.assemble((LETTERS[place], f"bold {STYLES[place]}"), f" {name}"))
    return items


def reading_rows(
    panels: Sequence[Panel], runs: Sequence[HeldRun], window: Window, cursor: float, axis: Axis, width: int, rows: int
) -> list[Content]:
    """The value that each drawn curve had at the cursor, in columns that stay where they are."""
    place = Content.assemble((f"{place_text(cursor, axis):<14}", "bold"))
    groups = [
        [
            _reading(panel, runs, run, name, value_text(name, run.points(name, window).at(cursor)))
            for run in runs
            for name in panel.names
            if name in run.whole
        ]
        for panel in panels
    ]
    room = 0 if len(runs) == 1 else max(len(panel.title) for panel in panels)
    titled = [
        [Content.assemble((f"{panel.title:<{room}} ", "$muted"), group[0]), *group[1:]]
        for panel, group in zip(panels, groups, strict=True)
        if group
    ]
    if len(runs) == 1:
        return wrapped_items([place, *(item for group in titled for item in group)], width, rows)
    return [place, *(row for group in titled for row in wrapped_items(group, width, rows))][:rows]


def _reading(panel: Panel, runs: Sequence[HeldRun], run: HeldRun, name: str, value: str) -> Content:
    look = look_of(panel, runs, run, name)
    label = look.sign if len(runs) > 1 else label_of(panel, name) if len(panel.names) > 1 else ""
    return Content.assemble((f"{label} " if label else "", look.style), f"{value:<{VALUE_WIDTH}}")


def wrapped_items(items: Sequence[Content], width: int, rows: int) -> list[Content]:
    """Items beside each other, two spaces apart, in as many rows as they need, at most `rows`."""
    lines: list[Content] = []
    for item in items:
        if lines and lines[-1].cell_length + 2 + item.rstrip().cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "  ", item)
        else:
            lines.append(item)
    return [line.rstrip() for line in lines[:rows]]
