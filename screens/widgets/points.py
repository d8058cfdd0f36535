"""The points of one curve in bounded memory: when there are too many, peaks and ends of each stretch stay."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

KEPT = 4096
THINNED = 2048


class Points:
    """Values over an axis that rises. `count` stand behind those kept; a NaN is kept as the gap that it is."""

    def __init__(self, xs: Iterable[float] = (), ys: Iterable[float] = (), count: int = 0) -> None:
        self.xs = list(xs)
        self.ys = list(ys)
        self.count = max(count, len(self.xs))
        self.generation = 0  # rises whenever points that were there went
        self._thin()

    def __len__(self) -> int:
        return len(self.xs)

    @property
    def last_x(self) -> float | None:
        return self.xs[-1] if self.xs else None

    @property
    def last(self) -> float | None:
        """The latest value, NaN included."""
        return self.ys[-1] if self.ys else None

    @property
    def complete(self) -> bool:
        """Whether every point is here."""
        return self.count <= len(self.xs)

    def add(self, x: float, y: float) -> None:
        """Append a point; one that does not lie beyond the last is said already, its value replaces."""
        if self.xs and x <= self.xs[-1]:
            if x == self.xs[-1] and y != self.ys[-1]:
                self.ys[-1] = y
                self.generation += 1
            return
        self.xs.append(x)
        self.ys.append(y)
        self.count += 1
        if len(self.xs) > KEPT:
            self._thin()

    def drop_after(self, x: float) -> None:
        """Forget what lies beyond `x`."""
        place = bisect_right(self.xs, x)
        if place < len(self.xs):
            self.count -= len(self.xs) - place
            del self.xs[place:], self.ys[place:]
            self.generation += 1

    def within(self, start: float, stop: float) -> range:
        """Places of the points in `start`..`stop`, with one more on each side so that the line goes on beyond the edges."""
        first = max(0, bisect_left(self.xs, start) - 1)
        return range(first, min(len(self.xs), bisect_right(self.xs, stop) + 1))

    def at(self, x: float) -> float | None:
        """The value that was the latest at `x`; None before the first point."""
        place = bisect_right(self.xs, x) - 1
        return self.ys[place] if place >= 0 else None

    def _thin(self) -> None:
        if len(self.xs) > KEPT:
            places = thinned(self.xs, self.ys, THINNED)
            self.xs = [self.xs[place] for place in places]
            self.ys = [self.ys[place] for place in places]
            self.generation += 1


def thinned(xs: Sequence[float], ys: Sequence[float], points: int) -> list[int]:
    """Places of at most `points`: first, lowest, highest and last of equal stretches of the axis, and a NaN of each if any."""
    width = (xs[-1] - xs[0]) / max(1, points // 5) or 1.0
    kept: list[int] = []
    for first, end in _stretches(xs, width):
        finite = [place for place in range(first, end) if math.isfinite(ys[place])]
        gap = next((place for place in range(first, end) if not math.isfinite(ys[place])), None)
        chosen = {first, end - 1} if gap is None else {first, end - 1, gap}
        if finite:
            chosen |= {min(finite, key=ys.__getitem__), max(finite, key=ys.__getitem__)}
        kept += sorted(chosen)
    return kept


def _stretches(xs: Sequence[float], width: float) -> Iterator[tuple[int, int]]:
    """First place and the one after the last of each stretch of `width` that holds any."""
    first = 0
    while first < len(xs):
        stretch = math.floor((xs[first] - xs[0]) / width)
        end = max(first + 1, bisect_left(xs, xs[0] + (stretch + 1) * width, first))
        yield first, end
        first = end
