"""The monitored training loop: what it adds to a bare step is a few list appends."""

import math
import time
from collections import deque

import torch

from explorer.errors import ExplorerError
from explorer.reporter import NO_ORDERS, Orders, Reporter
from explorer.training.learner import Learner

# Asking looks at a file, which costs 2 % of a millisecond's step; nobody notices a twentieth of a second.
CONTROL_INTERVAL_S = 0.05
# Slow steps are said this often, however few they are.
SAY_INTERVAL_S = 0.5


class Monitor:
    """Keeps losses on the device and says them every `log_every` steps, or each half second when steps are slow.

    It stops the training at a loss that is not finite.

    `done` counts finished steps. `whole` is False within a step, when the weights may be half updated. `loss` is the mean
    of the last `log_every` steps that were said, NaN before.
    """

    def __init__(self, learner: Learner, report: Reporter, log_every: int, *, done: int = 0) -> None:
        self.learner = learner
        self.report = report
        self.log_every = log_every
        self.done = done
        self.whole = True
        self.loss = math.nan
        self._first_unsaid = done + 1
        self._said: deque[float] = deque(maxlen=log_every)
        self._losses: list[torch.Tensor] = []
        self._read: list[float] = []
        self._rates: list[float] = []
        self._norms: list[torch.Tensor] = []
        self._samples = 0
        self._started = 0.0
        self._next_control = 0.0
        self._on_cpu = learner.device == "cpu"
        self._scaled = learner.amp.scaler is not None

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> Orders:
        """One step under watch; gives the commands that came in before it. A pause in `control()` is not counted as training."""
        now = time.perf_counter()
        commands = NO_ORDERS
        if not self._samples:
            self._started = now
        if now >= self._next_control:
            commands = self._ask(now)
        self.whole = False
        loss = self.learner.step(self.done, inputs, targets, self._guard)
        if not self._on_cpu:
            self._losses.append(loss)
        self._rates.append(self.learner.rate)
        self._samples += len(inputs)
        self.done += 1
        self.whole = True
        if self.done % self.log_every == 0 or now - self._started >= SAY_INTERVAL_S:
            self.flush()
        return commands

    @property
    def all_said(self) -> bool:
        """Whether every step so far was said."""
        return not self._samples

    def flush(self) -> None:
        """Read and say what is kept; raises when a loss in it is not finite."""
        if self._samples:
            self._say(self._finite_losses())

    def _ask(self, now: float) -> Orders:
        """Commands that came in; the time that a pause takes is no training time."""
        commands = self.report.control()
        after = time.perf_counter()
        self._started += after - now
        self._next_control = after + CONTROL_INTERVAL_S
        return commands

    def _guard(self, loss: torch.Tensor, norm: torch.Tensor | None) -> None:
        """Before the weights change: on the CPU at every step, since reading is free there, elsewhere when a log is due."""
        if norm is not None:
            self._norms.append(norm)
        step = self.done + 1
        if not (self._on_cpu or step % self.log_every == 0):
            return
        value = loss.item()
        check_finite(step, "loss", value)
        if self._on_cpu:
            self._read.append(value)
        if norm is not None and not self._scaled:
            check_finite(step, "gradient norm", norm.item())

    def _finite_losses(self) -> list[float]:
        if self._on_cpu:
            return self._read
        losses: list[float] = torch.stack(self._losses).float().tolist()
        for offset, value in enumerate(losses):
            check_finite(self._first_unsaid + offset, "loss", value)
        return losses

    def _say(self, losses: list[float]) -> None:
        """One event with the same columns each time, so that a reporter can join them."""
        steps = range(self._first_unsaid, self.done + 1)
        speed = self._samples / (time.perf_counter() - self._started)
        values = {"loss": losses, "lr": self._rates, "samples_per_s": [speed] * len(losses)}
        if self._norms:
            values["grad_norm"] = torch.stack(self._norms).float().tolist()
        self.report.metric(steps, values)
        self._said.extend(losses)
        self.loss = sum(self._said) / len(self._said)
        self._first_unsaid = self.done + 1
        self._losses, self._read, self._rates, self._norms = [], [], [], []
        self._samples = 0


def check_finite(step: int, what: str, value: float) -> None:
    """Raises `ExplorerError` when `value` is NaN or infinite; `step` counts from 1."""
    if not math.isfinite(value):
        kind = "NaN" if math.isnan(value) else "infinity"
        raise ExplorerError(f"{kind} in {what} at step {step}", "lower learning_rate, or set clip_grad_norm")
