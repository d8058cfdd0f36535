"""Times one call over and over: warmed up until it settles, synchronised, in samples long enough for the clock."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.inference.timing import Clock

Call = Callable[[], object]

# A sample this long hides the clock and the synchronisation after it.
SAMPLE_S = 5e-3
SAMPLES_AT_LEAST = 5
SETTLE_SAMPLES = 3
SETTLE_TOLERANCE = 0.02
GLANCE_SHARE = 0.2
# What else runs in a part of the time only slows the samples down, so a figure that strayed is measured again.
ATTEMPTS = 3
STEADY = 1.15


@dataclass(frozen=True)
class Timed:
    """Seconds a call: the median over `repeats` samples, with their 10th and 90th percentile."""

    median: float
    low: float
    high: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Timed":
        low, median, high = (float(value) for value in np.percentile(seconds, [10, 50, 90]))
        return cls(median, low, high, len(seconds))


class Stopwatch:
    """Measures for `seconds`; `between` is called before each sample, untimed, and may raise to stop or wait."""

    def __init__(
        self,
        synchronize: Callable[[], None],
        seconds: float,
        between: Callable[[], None] = lambda: None,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.seconds = seconds
        self._synchronize = synchronize
        self._between = between
        self._clock = clock

    def measure(self, call: Call, glanced: float = math.inf) -> Timed:
        """Warm up, then sample for `seconds`; the fastest of three attempts, unless one before is steady.

        One that is much slower than `glanced`, the seconds that a glance saw, is steady in what disturbs it.
        """
        calls = self._calls_per_sample(call)
        attempts: list[Timed] = []
        while len(attempts) < ATTEMPTS:
            self._settle(call, calls)
            attempts.append(Timed.of(self._samples(call, calls, self.seconds)))
            if attempts[-1].high <= STEADY * attempts[-1].low and attempts[-1].median <= STEADY * glanced:
                break
        return min(attempts, key=lambda timed: timed.median)

    def _settle(self, call: Call, calls: int) -> None:
        """Run until two blocks of samples agree within 2 %, for at most `seconds`."""
        before, warmed = math.inf, 0.0
        while warmed < self.seconds:
            block = [self._sample(call, calls) for _ in range(SETTLE_SAMPLES)]
            warmed += sum(block) * calls
            after = statistics.median(block)
            if abs(after / before - 1) < SETTLE_TOLERANCE:
                break
            before = after

    def glance(self, call: Call) -> float:
        """Seconds a call in the fastest of a few samples, which is the least disturbed."""
        calls = self._calls_per_sample(call)
        return min(self._samples(call, calls, GLANCE_SHARE * self.seconds, at_least=SETTLE_SAMPLES))

    def _samples(self, call: Call, calls: int, seconds: float, at_least: int = SAMPLES_AT_LEAST) -> list[float]:
        samples: list[float] = []
        spent = 0.0
        while spent < seconds or len(samples) < at_least:
            samples.append(self._sample(call, calls))
            spent += samples[-1] * calls
        return samples

    def _calls_per_sample(self, call: Call) -> int:
        self._sample(call, 1)
        once = self._sample(call, 1)
        return max(1, math.ceil(min(SAMPLE_S, self.seconds / 10) / max(once, 1e-9)))

    def _sample(self, call: Call, calls: int) -> float:
        self._between()
        self._synchronize()
        start = self._clock()
        for _ in range(calls):
            call()
        self._synchronize()
        return max(self._clock() - start, 1e-9) / calls
