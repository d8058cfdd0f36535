"""A curve laid into dot columns: cut to a window, smoothed, on a linear or logarithmic scale. New points cost only themselves."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from screens.widgets.points import Points


@dataclass(frozen=True)
class View:
    """What is drawn: `start`..`stop` of the axis in `columns`; `tau` is the length of the smoothing, 0 for none."""

    start: float
    stop: float
    columns: int
    tau: float = 0.0
    log: bool = False

    def column(self, x: float) -> int:
        """The dot column of a place on the axis."""
        return min(self.columns - 1, max(0, math.floor((x - self.start) / (self.stop - self.start) * (self.columns - 1) + 0.5)))


@dataclass(slots=True)
class Column:
    """What fell into one dot column, on the scale that is drawn; `gap`: no line leads here from the column before."""

    first: float
    low: float
    high: float
    last: float
    gap: bool = False


@dataclass
class Trace:
    """Feed it `Points` with `take`; read `columns`, `low`, `high`, and `left_out`: how many a logarithm does not exist for."""

    view: View
    columns: dict[int, Column] = field(default_factory=dict)
    low: float = math.inf
    high: float = -math.inf
    left_out: int = 0
    begun: int = 0  # how often it was laid anew
    changed: int | None = None  # the first column that the latest `take` touched; None for none
    _points: Points | None = None
    _generation: int = -1
    _taken: int = 0
    _smoothed: list[float] = field(default_factory=list)
    _gap: bool = False

    def take(self, points: Points, view: View) -> None:
        """Learn what is new; begins again when the view or what was there changed."""
        self.changed = None
        if view != self.view or points is not self._points or points.generation != self._generation:
            self._begin(points, view)
        place = self._taken
        if place == len(points.xs):
            return
        ys = self._smooth(points) if view.tau else points.ys
        end = bisect_right(points.xs, view.stop)
        self._taken = len(points.xs)
        if place <= end:
            self._lay(points.xs, ys, max(place, bisect_left(points.xs, view.start)), end)

    def _begin(self, points: Points, view: View) -> None:
        self.view, self.columns, self._smoothed = view, {}, []
        self.low, self.high, self.left_out = math.inf, -math.inf, 0
        self._points, self._generation, self._taken, self._gap = points, points.generation, 0, False
        self.begun += 1

    def _smooth(self, points: Points) -> list[float]:
        """The moving average whose weights fall to 1/e over `tau` of the axis, however dense the points are."""
        xs, ys, out, scale = points.xs, points.ys, self._smoothed, -1 / self.view.tau
        place = next((place for place in range(len(out) - 1, -1, -1) if math.isfinite(out[place])), None)
        value, before = (out[place], xs[place]) if place is not None else (math.nan, 0.0)
        for x, y in zip(xs[len(out) :], ys[len(out) :], strict=True):
            if not math.isfinite(y):
                out.append(y)
                continue
            value = y if value != value else value + (1 - math.exp((x - before) * scale)) * (y - value)
            before = x
            out.append(value)
        return out

    def _lay(self, xs: Sequence[float], ys: Sequence[float], place: int, end: int) -> None:
        """Lay the points from `place` to `end` into their columns, and the line that enters or leaves the window."""
        view = self.view
        if place > 0 and not self.columns and place < len(xs):
            self._cross(xs, ys, place, view.start)
        dots_per_x, start = (view.columns - 1) / (view.stop - view.start), view.start
        while place < end:
            column = int((xs[place] - start) * dots_per_x + 0.5)
            after = bisect_left(xs, start + (column + 0.5) / dots_per_x, place + 1, end)
            while after > place + 1 and int((xs[after - 1] - start) * dots_per_x + 0.5) > column:  # a border rounds either way
                after -= 1
            while after < end and int((xs[after] - start) * dots_per_x + 0.5) == column:
                after += 1
            self._fill(column, ys[place:after])
            place = after
        if 0 < end < len(xs) and xs[end] > view.stop:
            self._cross(xs, ys, end, view.stop)

    def _cross(self, xs: Sequence[float], ys: Sequence[float], place: int, edge: float) -> None:
        """The value at an edge of the window, on the line between the points on both sides of it."""
        before, after = self._scaled(ys[place - 1]), self._scaled(ys[place])
        if math.isfinite(before) and math.isfinite(after):
            share = (edge - xs[place - 1]) / (xs[place] - xs[place - 1])
            value = before + share * (after - before)
            self._merge(self.view.column(edge), value, value, value, value)

    def _scaled(self, y: float) -> float:
        return y if not self.view.log or not math.isfinite(y) else math.log10(y) if y > 0 else math.nan

    def _fill(self, column: int, ys: Sequence[float]) -> None:
        """Some points of one column: at once when all are numbers that the scale has, else one by one."""
        if not math.isfinite(sum(ys)) or (self.view.log and min(ys) <= 0):
            for y in ys:
                value = self._scaled(y)
                self.left_out += self.view.log and y <= 0
                if math.isfinite(value):
                    self._merge(column, value, value, value, value)
                else:
                    self._gap = True
            return
        parts = (ys[0], min(ys), max(ys), ys[-1])
        first, low, high, last = (math.log10(y) for y in parts) if self.view.log else parts
        self._merge(column, first, low, high, last)

    def _merge(self, place: int, first: float, low: float, high: float, last: float) -> None:
        column = self.columns.get(place)
        if column is None:
            self.columns[place] = Column(first, low, high, last, self._gap)
        else:
            column.low, column.high, column.last = min(column.low, low), max(column.high, high), last
        self._gap = False
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.changed = place if self.changed is None else min(self.changed, place)
