"""The points of a run as they stand: metrics folded by step, where the later value wins."""

import numpy as np

from explorer.runs.columns import Batch, Column, Floats, Integers

FIRST_ROOM = 256


class Series:
    """One metric over rising steps. When steps go back, the new points replace all from there on.

    `shortened` lists the lengths to which that cut it, so that a reader with a cursor knows from where to read again.
    """

    def __init__(self) -> None:
        self._count = 0
        self._steps = np.empty(FIRST_ROOM, np.int64)
        self._values = np.empty(FIRST_ROOM)
        self._times = np.empty(FIRST_ROOM)
        self.shortened: list[int] = []

    def __len__(self) -> int:
        return self._count

    @property
    def steps(self) -> Integers:
        return self._steps[: self._count]

    @property
    def values(self) -> Floats:
        return self._values[: self._count]

    @property
    def times(self) -> Floats:
        return self._times[: self._count]

    @property
    def bytes(self) -> int:
        return self._steps.nbytes + self._values.nbytes + self._times.nbytes

    def append(self, points: Column) -> None:
        """Add points in the order of the log."""
        points = _rising(points)
        if not len(points):
            return
        self.cut(int(points.steps[0]) - 1)
        end = self._count + len(points)
        if end > len(self._steps):
            self._make_room(end)
        self._steps[self._count : end] = points.steps
        self._values[self._count : end] = points.values
        self._times[self._count : end] = points.times
        self._count = end

    def cut(self, step: int) -> bool:
        """Drop what lies beyond `step`; True when something did."""
        if not self._count or self._steps[self._count - 1] <= step:
            return False
        self._count = int(np.searchsorted(self.steps, step, side="right"))
        self.shortened.append(self._count)
        return True

    def _make_room(self, count: int) -> None:
        room = max(count, 2 * len(self._steps))
        steps, values, times = np.empty(room, np.int64), np.empty(room), np.empty(room)
        steps[: self._count], values[: self._count], times[: self._count] = self.steps, self.values, self.times
        self._steps, self._values, self._times = steps, values, times


class History:
    """Every metric of a run. `restarts` counts how often the log was begun again."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self.restarts = 0

    @property
    def bytes(self) -> int:
        return sum(series.bytes for series in self.series.values())

    def add(self, batch: Batch) -> None:
        """Take in the next part of the log."""
        if batch.restarted:
            self.series = {}
            self.restarts += 1
        if batch.cut is not None:
            for series in self.series.values():
                series.cut(batch.cut)
        for name, points in batch.columns.items():
            self.series.setdefault(name, Series()).append(points)

    def time_range(self) -> tuple[float, float] | None:
        """First and last Unix seconds of any value; None when the log has no times."""
        ranges = [found for series in self.series.values() if (found := _ends(series.times)) is not None]
        return (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else None

    def last_step(self) -> int | None:
        return max((int(series.steps[-1]) for series in self.series.values() if len(series)), default=None)


def _ends(times: Floats) -> tuple[float, float] | None:
    """The first and last time that is known; all are looked at only when an end is not."""
    if len(times) and not (np.isfinite(times[0]) and np.isfinite(times[-1])):
        times = times[np.isfinite(times)]
    return (float(times[0]), float(times[-1])) if len(times) else None


def _rising(points: Column) -> Column:
    """Without the points that later ones with the same or a lower step replace."""
    steps = points.steps
    if len(steps) < 2 or (steps[1:] > steps[:-1]).all():
        return points
    lowest_after = np.append(np.minimum.accumulate(steps[::-1])[::-1][1:], np.iinfo(np.int64).max)
    kept = steps < lowest_after
    return Column(steps[kept], points.values[kept], points.times[kept])
