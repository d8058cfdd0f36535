"""The words of the watch screen: its head, its rows, and what it says when there is nothing to show."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from screens.text import NONE, count, number
from screens.watch_list import WatchedRun, WatchList
from screens.widgets.board_panels import LETTERS, STYLES

FORMAT_WIDTH, STEP_WIDTH, AGE_WIDTH, LOSS_WIDTH = 11, 12, 10, 10
FIXED = 3 + FORMAT_WIDTH + STEP_WIDTH + AGE_WIDTH + LOSS_WIDTH + 3
SPANS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def age(then: float | None, now: float) -> str:
    """How long ago something was, such as `4 s ago` or `2 h ago`."""
    if then is None:
        return NONE
    past = max(0.0, now - then)
    for limit, unit in SPANS:
        if past >= limit:
            return f"{past // limit:.0f} {unit} ago"
    return f"{past:.0f} s ago"


def head_row(path: str, runs: WatchList, now: float) -> Content:
    """Where, how many, and how many of them are being written."""
    found = len(runs.runs)
    fresh = sum(run.fresh(now) for run in runs.runs.values())
    words = [f"{found} run{'' if found == 1 else 's'}"] if found else []
    words += [f"{fresh} written within a minute"] if fresh else []
    return Content.assemble((f"watching {path}", "bold"), "".join(f" · {word}" for word in words))


def column_names(width: int) -> Content:
    """The names over the rows."""
    room = name_room(width)
    names = f"   {'run':<{room}} {'format':<{FORMAT_WIDTH}} {'step':>{STEP_WIDTH}}{'written':>{AGE_WIDTH}}{'loss':>{LOSS_WIDTH}}"
    return Content.assemble((names, "$muted"))


def run_row(run: WatchedRun, shown: list[str], now: float, width: int) -> Content:
    """One run: its letter when it is drawn, name, format, step, when it was written, latest loss; or what is wrong with it."""
    place = shown.index(run.source) if run.source in shown else None
    letter = "" if place is None else LETTERS[place] if len(shown) > 1 else "●"
    mark = (f"{letter:<2} ", f"bold {STYLES[place]}" if place is not None else "")
    room = name_room(width)
    name = run.name if len(run.name) <= room else f"…{run.name[1 - room :]}"
    if run.unreadable:
        return Content.assemble(mark, f"{name:<{room}} ", ("✗ ", "bold $error"), run.problem)
    when = "removed" if run.gone else age(run.time, now)
    step, loss = count(run.step), number(run.loss)
    return Content.assemble(
        mark,
        f"{name:<{room}} ",
        (f"{run.format:<{FORMAT_WIDTH}} ", "$muted"),
        f"{step:>{STEP_WIDTH}}",
        (f"{when:>{AGE_WIDTH}}", "" if run.fresh(now) else "$muted"),
        f"{loss:>{LOSS_WIDTH}}",
    )


def name_room(width: int) -> int:
    return max(10, min(60, width - FIXED))


def empty_rows(path: str, problem: str = "") -> list[Content | str]:
    """What is looked for, and where."""
    missing = not Path(path).exists()
    said: list[Content | str] = [Content.assemble(("✗ ", "bold $error"), problem), ""] if problem and Path(path).is_file() else []
    return [
        *said,
        Content.assemble(("There is no such path." if missing else "No run in it or in the folders below yet.", "bold")),
        "A run shows up here as soon as its log is written:",
        "",
        "  TensorBoard     events.out.tfevents.*",
        "  CSV             *.csv with a header, such as Lightning's metrics.csv",
        "  JSON lines      *.jsonl, one object a line",
        "  Hugging Face    trainer_state.json",
        "",
        "o watches another folder, esc goes back.",
    ]
