"""Which panels a board offers for the metrics of its runs, and the curves of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from screens.widgets.held_run import HeldRun
from screens.widgets.metrics import MEMORY, STEP_SPLIT, panel_keys, place_of, title_of
from screens.widgets.plot import PlotCurve
from screens.widgets.plot_cells import Look
from screens.widgets.scales import Window

LETTERS = "ABCDEFGH"
STYLES = ("$primary", *(f"$series-{place}" for place in range(2, 9)))
FROM_ZERO = {"step", "memory", "samples_per_s", *STEP_SPLIT, *MEMORY}


@dataclass(frozen=True)
class Panel:
    """Some metrics under one title; `floor` and `ceiling` fix the y axis."""

    key: str
    title: str
    names: tuple[str, ...]
    floor: float | None = None
    ceiling: float | None = None


def panels_of(metrics: Iterable[str], several: bool) -> list[Panel]:
    """The panels in their order. For several runs each part of the step and of the memory has a panel of its own."""
    found = sorted(metrics)
    panels = []
    for key in panel_keys(found):
        names = [name for name in found if place_of(name).panel == key]
        order = (*STEP_SPLIT, *MEMORY)
        names.sort(key=lambda name: (order.index(name) if name in order else 0, place_of(name).held_out, name))
        if several and key in ("step", "memory"):
            panels += [_panel(name, f"{title_of(key)}: {place_of(name).label}", [name]) for name in names]
        else:
            panels.append(_panel(key, title_of(key), names))
    return panels


def curves_of(panel: Panel, runs: Sequence[HeldRun], window: Window, faint: bool) -> list[PlotCurve]:
    """The curves of a panel; with `faint`, each training curve once more as it is, to lie behind its smoothed one."""
    curves = [
        PlotCurve(name, label_of(panel, name), run.points(name, window), look_of(panel, runs, run, name))
        for run in runs
        for name in panel.names
        if name in run.whole
    ]
    return curves + [replaced(curve) for curve in curves if faint and not curve.look.dotted]


def label_of(panel: Panel, name: str) -> str:
    """What tells a metric from the others of its panel."""
    label = place_of(name).label
    same = [other for other in panel.names if place_of(other).label == label]
    return label if len(same) == 1 else name


def look_of(panel: Panel, runs: Sequence[HeldRun], run: HeldRun, name: str) -> Look:
    """Several runs have a letter and a colour each; the curves of a single run a colour each, and letters from three on.

    A held-out curve is dotted where a training curve is, too.
    """
    held_out = place_of(name).held_out and not all(place_of(other).held_out for other in panel.names)
    if len(runs) > 1:
        place = runs.index(run)
        return Look(LETTERS[place], STYLES[place], held_out, place)
    place = panel.names.index(name)
    letter = label_of(panel, name)[0].upper() if len(panel.names) > 2 else ""
    return Look(letter, STYLES[place % len(STYLES)], held_out, place)


def replaced(curve: PlotCurve) -> PlotCurve:
    """The same curve as a faint one, with a trace of its own."""
    return PlotCurve(curve.metric, curve.label, curve.points, replace(curve.look, letter=""), faint=True)


def _panel(key: str, title: str, names: Sequence[str]) -> Panel:
    return Panel(key, title, tuple(names), 0.0 if key in FROM_ZERO else None, 1.0 if key == "accuracy" else None)
