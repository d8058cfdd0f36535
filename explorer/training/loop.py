"""The monitored training loop: what it adds to a bare step is a few list appends."""

import math
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from explorer.reporter import Reporter
from explorer.training.accelerator import Accelerator
from explorer.training.alarms import STARVED_STEPS, Alarms
from explorer.training.batches import Batch
from explorer.training.memory import MemoryWatch
from explorer.training.pace import Pace
from explorer.training.stepper import Stepper
from explorer.training.timing import StepTimes, Stopwatch

# Slow steps are said this often, however few they are.
SAY_INTERVAL_S = 0.5
# Steps on the CPU, whose losses are read anyway, are said no oftener: nobody sees more, and saying costs as much as many steps.
LEAST_INTERVAL_S = 0.1


class Monitor:
    """Says the steps of a `Stepper` every `log_every` steps, though at least twice a second, and on the CPU at most ten times a
    second, and watches over them.

    `whole` is False within a step, when the weights may be half updated.
    """

    def __init__(self, stepper: Stepper, report: Reporter, accelerator: Accelerator) -> None:
        spec = stepper.learner.spec
        self.stepper, self.report = stepper, report
        self.position, self.group = stepper.position, stepper.group
        self.whole = True
        self.log_every = spec.log_every_steps
        self.alarms = Alarms(report)
        self.pace = Pace()
        self.times = StepTimes(report, spec.time_every_steps, accelerator.synchronize)
        self.memory = MemoryWatch(report, accelerator)
        self.said: deque[float] = deque(maxlen=self.log_every)
        self._scaler = stepper.learner.amp.scaler
        # Ranks say together, and their clocks differ.
        self._by_clock = self.group.size == 1
        self._least_s = LEAST_INTERVAL_S if self._by_clock and stepper.on_cpu else 0.0
        self._said_step = 0
        self._rates: list[float] = []
        self._norms: list[torch.Tensor] = []
        self._others: dict[int, dict[str, Any]] = {}
        self._clips = spec.clip_grad_norm is not None
        self._started = 0.0

    @property
    def all_said(self) -> bool:
        """Whether every step so far was said."""
        return not self._rates

    @property
    def loss(self) -> float:
        """The mean of the last `log_every` steps that were said, NaN before."""
        return sum(self.said) / len(self.said) if self.said else math.nan

    def log_each(self, steps: int) -> None:
        """Say every so many steps from here on."""
        self.log_every = steps
        self.said = deque(self.said, maxlen=steps)
        self.stepper.checks.log_each(steps)

    def wait(self, seconds: float) -> None:
        """So much time went by between two steps, which is no training time."""
        self._started += seconds

    def step(self, batches: Iterator[Batch], count: int = 1, most: int = 1, until_s: float = math.inf) -> bool:
        """Learn from the next `count` batches under watch; False when there are none.

        Of usual steps up to `most` in a row, until the clock says `until_s` or a log is due.
        """
        now = time.perf_counter()
        if not self._rates:
            self._started, self._said_step = now, self.position.step
        done = self.position.step
        usual = 0
        if count == 1 and self.stepper.makes_usual_steps:
            usual = min(most, self.log_every - done % self.log_every, self.times.until(done))
        self.whole = False
        if usual > 0:
            learned = self.stepper.steps(batches, usual, min(until_s, self._started + SAY_INTERVAL_S), self._rates) > 0
        else:
            learned = self._watched_step(batches, count)
        self.whole = True
        if not learned:
            return False
        if self._is_due(time.perf_counter() - self._started):
            self.flush()
        return True

    def _is_due(self, unsaid_s: float) -> bool:
        """Whether steps are to be said, the first of which began so many seconds ago."""
        if self._by_clock and unsaid_s >= SAY_INTERVAL_S:
            return True
        return self.position.step % self.log_every == 0 and unsaid_s >= self._least_s

    def _watched_step(self, batches: Iterator[Batch], count: int) -> bool:
        """One step with all that may be looked at in it."""
        stepper, step = self.stepper, self.position.step + 1
        watch = self.times.start() if self.times.due(step) else None
        if not stepper.step(batches, count, watch):
            return False
        self._rates.append(stepper.learner.rate)
        if self._clips and stepper.norm is not None:
            self._norms.append(stepper.norm)
        if stepper.others:
            self._others[step] = stepper.others
        if watch is not None:
            self._add_timed(step, watch)
        return True

    def flush(self) -> None:
        """Read and say what is kept; raises when a loss in it is not finite."""
        if self._rates:
            seconds = time.perf_counter() - self._started
            with self.unbroken():
                self._say(self.stepper.take_losses(), seconds)

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """A cut within the block leaves no state to keep."""
        self.whole = False
        yield
        self.whole = True

    def forget_after(self, step: int) -> None:
        """Leave out what was not said yet of steps beyond `step`: they were undone, or did not come to their end."""
        kept = max(0, step - self._said_step)
        for column in (self._rates, self.stepper.losses):
            del column[kept:]

    def flush_all(self) -> None:
        """The timed steps too, as before a checkpoint."""
        self.flush()
        self.times.flush()

    def _add_timed(self, step: int, watch: Stopwatch) -> None:
        others = {}
        if not self._clips and self.stepper.norm is not None:
            others["grad_norm"] = self.stepper.norm.item()
        if self._scaler is not None:
            others["grad_scale"] = self._scaler.get_scale()
        self.times.add(step, watch, others)
        self.alarms.data_share(step, self.times.data_share(STARVED_STEPS))

    def _say(self, losses: list[float], seconds: float) -> None:
        """One event with the same columns each time, so that a reporter can join them."""
        step, count = self.position.step, len(losses)
        steps = range(step - count + 1, step + 1)
        columns = self._over_ranks({"loss": losses} | self._other_columns(steps))
        speed = self.pace.add(count, self.stepper.samples * self.group.size, seconds)
        columns |= {"lr": self._rates, "samples_per_s": [speed] * count}
        if self._norms:
            columns["grad_norm"] = torch.stack(self._norms).float().tolist()
        self._rates, self._norms, self._others, self.stepper.samples = [], [], {}, 0
        self.report.metric(steps, columns)
        self.said.extend(columns["loss"])
        self._watch(step, columns["loss"])

    def _watch(self, step: int, losses: list[float]) -> None:
        self.alarms.losses(step, losses)
        if self._scaler is not None:
            self.alarms.scale(step, len(losses), self._scaler.get_scale())
        if time.perf_counter() >= self.memory.next_s:
            self.alarms.memory(step, self.memory.read(step))

    def _other_columns(self, steps: range) -> dict[str, list[float]]:
        """What the user's step gave; NaN where it gave a name at some steps only."""
        names = dict.fromkeys(name for others in self._others.values() for name in others)
        rows = [self._others.get(step, {}) for step in steps] if names else []
        return {name: [float(row.get(name, math.nan)) for row in rows] for name in names}

    def _over_ranks(self, columns: dict[str, list[float]]) -> dict[str, list[float]]:
        """Means over all ranks, whose losses are weighted by their samples already."""
        size = self.group.size
        if size == 1:
            return columns
        totals = self.group.total([value / size for column in columns.values() for value in column])
        count = len(columns["loss"])
        return {name: totals[index * count : (index + 1) * count] for index, name in enumerate(columns)}
