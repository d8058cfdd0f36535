"""Where the time of a step goes: one step in so many is measured in its parts, the device drained around each."""

import statistics
import time
from collections import deque
from collections.abc import Callable

from explorer.reporter import Reporter

PARTS = ("data", "forward", "backward", "optimizer")
# This step is timed too, so that short trainings know.
EARLY_STEP = 10
# Medians are over this many timed steps, the last.
KEPT = 1000
SAY_INTERVAL_S = 0.5
NEVER = 1 << 62


class Stopwatch:
    """Adds up the time of each part of one step; a part is what passed since the last mark."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self.seconds = dict.fromkeys(PARTS, 0.0)
        synchronize()
        self._last = time.perf_counter()

    def mark(self, part: str) -> None:
        self._synchronize()
        now = time.perf_counter()
        self.seconds[part] += now - self._last
        self._last = now


class StepTimes:
    """Timed steps, said in a metric of their own since few steps have them. `every` 0 times none."""

    def __init__(self, report: Reporter, every: int, synchronize: Callable[[], None]) -> None:
        self.every = every
        self._report = report
        self._synchronize = synchronize
        self._kept: deque[tuple[float, ...]] = deque(maxlen=KEPT)
        self._steps: list[int] = []
        self._rows: list[dict[str, float]] = []
        self._next_s = 0.0

    def due(self, step: int) -> bool:
        """Whether `step` (from 1) is timed: by its number alone, so that a resumed run times the same ones."""
        return self.every > 0 and (step % self.every == 0 or (step == EARLY_STEP and self.every > EARLY_STEP))

    def until(self, step: int) -> int:
        """How many steps after `step` go by before one is timed."""
        if not self.every:
            return NEVER
        left = self.every - step % self.every - 1
        return min(left, EARLY_STEP - step - 1) if step < EARLY_STEP < self.every else left

    def start(self) -> Stopwatch:
        """A running stopwatch."""
        return Stopwatch(self._synchronize)

    def add(self, step: int, watch: Stopwatch, others: dict[str, float]) -> None:
        """Keep a timed step with whatever else was read in it."""
        self._kept.append(tuple(watch.seconds.values()))
        self._steps.append(step)
        self._rows.append({f"{part}_ms": seconds * 1e3 for part, seconds in watch.seconds.items()} | others)
        if time.perf_counter() >= self._next_s:
            self.flush()

    def flush(self) -> None:
        """Say what is kept."""
        if self._steps:
            steps, rows = self._steps, self._rows
            self._steps, self._rows = [], []
            self._report.metric(steps, {name: [row[name] for row in rows] for name in rows[0]})
        self._next_s = time.perf_counter() + SAY_INTERVAL_S

    @property
    def medians_ms(self) -> dict[str, float]:
        """By part; empty when no step was timed."""
        return {part: statistics.median(column) * 1e3 for part, column in zip(PARTS, zip(*self._kept, strict=True), strict=False)}

    def data_share(self, last: int) -> float | None:
        """Median share of the data in the `last` timed steps; None when there are fewer."""
        if len(self._kept) < last:
            return None
        return statistics.median(row[0] / max(sum(row), 1e-9) for row in list(self._kept)[-last:])
