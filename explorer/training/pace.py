"""How fast the steps go, and how long the rest will take."""

import math
import statistics
from collections import deque

# Blocks of steps and speeds that are remembered; old blocks fade, since a machine's speed changes.
BLOCKS = 10_000
FADING_S = 60.0


class Pace:
    """Seconds of a step from blocks of training alone, since this start: pauses, validations and checkpoints lie outside them."""

    def __init__(self) -> None:
        self._blocks = 0
        self._steps = 0.0
        self._seconds = 0.0
        self._validations_s: list[float] = []
        self._speeds: deque[float] = deque(maxlen=BLOCKS)

    def add(self, steps: int, samples: int, seconds: float) -> float:
        """Take in a block of steps and give its samples a second. The first is dropped once there are others: it warms up."""
        if self._blocks == 1:
            self._steps = self._seconds = 0.0
        self._blocks += 1
        kept = math.exp(-seconds / FADING_S)
        self._steps = self._steps * kept + steps
        self._seconds = self._seconds * kept + seconds
        speed = samples / seconds if seconds > 0 else math.inf
        self._speeds.append(speed)
        return speed

    def validated(self, seconds: float) -> None:
        """Take in the length of one validation."""
        self._validations_s.append(seconds)

    @property
    def samples_per_s(self) -> float | None:
        """The median over the blocks; None before the first."""
        return statistics.median(self._speeds) if self._speeds else None

    def seconds_left(self, steps: float, validations: int) -> float | None:
        """For so many steps and validations; None before there are two blocks."""
        if self._blocks < 2 or not self._steps:
            return None
        validation = statistics.fmean(self._validations_s) if self._validations_s else 0.0
        return steps * self._seconds / self._steps + validations * validation
