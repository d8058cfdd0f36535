"""The runs below a watched path and which of them are drawn, without any widget."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from explorer.schemas.curves import RunCurves, RunNews
from screens.widgets.board import MOST_RUNS
from screens.widgets.metrics import place_of

FRESH_S = 60.0
FORMATS = {"job": "job", "tfevents": "TensorBoard", "csv": "CSV", "jsonl": "JSON lines", "trainer_state": "HF Trainer"}


@dataclass
class WatchedRun:
    """What the list says of one run."""

    source: str
    name: str
    format: str = ""
    step: int | None = None
    time: float | None = None
    loss: float | None = None
    problem: str = ""
    gone: bool = False

    def take(self, run: RunCurves) -> None:
        """Learn from its latest news."""
        self.name, self.problem = run.name or self.name, run.problem
        self.format = FORMATS.get(run.format or "", self.format)
        self.step = run.last_step if run.last_step is not None else self.step
        self.time = run.last_time if run.last_time is not None else self.time
        losses = {
            curve.name: curve.last for curve in run.curves if curve.last is not None and place_of(curve.name).panel == "loss"
        }
        training = [value for name, value in losses.items() if not place_of(name).held_out]
        self.loss = next(iter([*training, *losses.values()]), self.loss)

    @property
    def unreadable(self) -> bool:
        """Whether there is a problem and nothing to draw."""
        return bool(self.problem) and self.step is None

    def fresh(self, now: float) -> bool:
        """Whether something came within the last minute."""
        return not self.gone and self.time is not None and now - self.time < FRESH_S


@dataclass
class WatchList:
    """Feed it news with `take`; `shown` are the sources of the drawn runs in the order of their letters."""

    runs: dict[str, WatchedRun] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def take(self, news: Iterable[RunNews]) -> None:
        for item in news:
            run = self.runs.setdefault(item.run.source, WatchedRun(item.run.source, item.run.name))
            if item.restarted:
                run.step, run.time, run.loss = None, None, None
            run.take(item.run)
            run.gone = item.gone
            if run.gone and run.step is None:
                self._forget(item.run.source)
        if not self.shown and (latest := self.latest()) is not None:
            self.shown = [latest.source]

    def only_problem(self, path: str) -> str:
        """What is wrong with the watched path when that is all there is to say."""
        run = self.runs.get(path)
        return run.problem if run is not None and run.unreadable and len(self.runs) == 1 else ""

    def ordered(self) -> list[WatchedRun]:
        """By name, numbers by their value, so that a row stays where it is while runs grow; unreadable ones last."""
        return sorted(self.runs.values(), key=lambda run: (run.unreadable, _natural(run.name), run.source))

    def _forget(self, source: str) -> None:
        """A log that went before anything was read from it leaves no row."""
        del self.runs[source]
        self.shown = [item for item in self.shown if item != source]

    def latest(self) -> WatchedRun | None:
        """The readable run that was written last."""
        usable = [run for run in self.runs.values() if not run.unreadable]
        return max(usable, key=lambda run: (not run.gone, run.time or 0.0, run.step or 0), default=None)

    def toggle(self, source: str) -> bool:
        """Draw a run beside the others, or take it away; False when there are eight already."""
        if source in self.shown:
            self.shown.remove(source)
        elif len(self.shown) >= MOST_RUNS:
            return False
        else:
            self.shown.append(source)
        return True


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", name.lower())]
