"""What a board holds of one run: its curves over the whole run, finer ones of a window, and the latest points for both axes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from screens.widgets.points import Points
from screens.widgets.scales import Window

if TYPE_CHECKING:
    from explorer.schemas.curves import RunCurves

Axis = Literal["step", "time"]
TAIL = 512  # live points kept to be put behind an answer that was read before they came


@dataclass
class Live:
    """A point as it came: its step, the seconds since its run began if known, and its value."""

    step: float
    seconds: float | None
    value: float

    def x(self, axis: Axis) -> float | None:
        """Where it lies on an axis."""
        return self.step if axis == "step" else self.seconds


@dataclass
class HeldRun:
    """One run on the board, its `whole` curves by metric, by step or by time."""

    source: str
    name: str
    axis: Axis = "step"
    whole: dict[str, Points] = field(default_factory=dict)
    detail: dict[str, Points] = field(default_factory=dict)
    detail_window: Window = (0.0, 0.0)
    first_time: float | None = None
    _tails: dict[str, deque[Live]] = field(default_factory=dict)
    _latest: dict[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: RunCurves) -> HeldRun:
        """A run as the engine tells it, by step."""
        held = cls(run.source, run.name, first_time=run.first_time)
        held.take(run, "step")
        return held

    @property
    def last_x(self) -> float:
        return max((points.last_x or 0.0 for points in self.whole.values()), default=0.0)

    def take(self, run: RunCurves, axis: Axis) -> None:
        """Replace the whole by another answer; what came live after it was read stays."""
        self.axis, self.detail = axis, {}
        self.first_time = run.first_time if run.first_time is not None else self.first_time
        self.whole = {curve.name: Points(curve.xs, curve.ys, curve.count) for curve in run.curves}
        for name in self._tails:
            self._replay(name, self.whole.setdefault(name, Points()))
        if axis == "step" and run.last_time is not None and run.first_time is not None:
            for name, points in self.whole.items():
                if points.last_x is not None:
                    self._latest[name] = (points.last_x, run.last_time - run.first_time)

    def take_detail(self, run: RunCurves, window: Window) -> None:
        """Finer points of a window."""
        self.detail_window = window
        self.detail = {curve.name: Points(curve.xs, curve.ys) for curve in run.curves}
        for name, points in self.detail.items():
            self._replay(name, points, window[1])

    def add(self, name: str, steps: Sequence[float], values: Sequence[float], time: float | None = None) -> None:
        """Append points by step; `time` is when the last came, the others are spread since the last known one."""
        whole, tail = self.whole.setdefault(name, Points()), self._tails.setdefault(name, deque(maxlen=TAIL))
        for step, seconds, value in zip(steps, self._seconds(name, steps, time), values, strict=True):
            live = Live(step, seconds, value)
            tail.append(live)
            x = live.x(self.axis)
            if x is not None:
                whole.add(x, value)
                if name in self.detail and x <= self.detail_window[1]:
                    self.detail[name].add(x, value)

    def rewind(self, step: float) -> None:
        """Drop what lies beyond a step; by time only the live points, since the whole does not know its steps."""
        for name, tail in self._tails.items():
            self._tails[name] = deque((live for live in tail if live.step <= step), maxlen=TAIL)
        if self.axis == "step":
            for points in (*self.whole.values(), *self.detail.values()):
                points.drop_after(step)

    def points(self, name: str, window: Window) -> Points:
        """The finest points held of a metric in a window."""
        start, stop = self.detail_window
        return self.detail[name] if name in self.detail and start <= window[0] and window[1] <= stop else self.whole[name]

    def lacks_detail(self, name: str, window: Window) -> bool:
        """Whether the engine knows more of this window than is held."""
        whole = self.whole.get(name)
        return whole is not None and not whole.complete and self.points(name, window) is whole

    def _replay(self, name: str, points: Points, stop: float = float("inf")) -> None:
        for live in self._tails.get(name, ()):
            x = live.x(self.axis)
            if x is not None and x <= stop and (points.last_x is None or x > points.last_x):
                points.add(x, live.value)

    def _seconds(self, name: str, steps: Sequence[float], time: float | None) -> list[float | None]:
        if time is None or not steps:
            return [None] * len(steps)
        self.first_time = time if self.first_time is None else self.first_time
        end, last = time - self.first_time, steps[-1]
        step, seconds = self._latest.get(name, (0.0, 0.0))
        self._latest[name] = (last, end)
        if last <= step:
            return [end] * len(steps)
        return [seconds + (end - seconds) * (item - step) / (last - step) for item in steps]
