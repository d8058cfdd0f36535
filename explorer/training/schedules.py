"""The learning rate of each step: a schedule over the run, halved when validation stalls, and steered by the user."""

import math
from typing import Any

from explorer.errors import ExplorerError
from explorer.reporter import Orders
from explorer.schemas.specs import TrainSpec

PLATEAU_PATIENCE = 3
PLATEAU_SHARE = 1e-4
NEEDS_TOTAL = ("cosine", "linear", "step")


def scheduled(spec: TrainSpec, step: int, total_steps: int | None) -> float:
    """The schedule's rate of step `step` of `total_steps` (from 0), a pure function, so that a resumed run needs no state for it.

    cosine: half a cosine to zero (Loshchilov and Hutter 2017, without restarts). linear: a straight line to zero. step: a tenth
    after one third, a hundredth after two. All three rise from zero over the first `warmup_share`. constant and plateau stay.
    """
    if spec.schedule not in NEEDS_TOTAL:
        return spec.learning_rate
    total = total_steps or 1
    warmup = round(spec.warmup_share * total)
    if step < warmup:
        return spec.learning_rate * (step + 1) / warmup
    if spec.schedule == "step":
        return float(spec.learning_rate * 0.1 ** min(2, 3 * step // total))
    share = (step - warmup) / max(1, total - warmup)
    return spec.learning_rate * (1 - share if spec.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * share)))


class Rate:
    """What the learning rate is now: `scheduled` times `factor`, which is the user's and, on a plateau, the validation's."""

    def __init__(self, spec: TrainSpec, total_steps: int | None) -> None:
        if total_steps is None and spec.schedule in NEEDS_TOTAL:
            raise ExplorerError(
                f"the {spec.schedule} schedule needs to know how many steps there are, and the data does not say how long it is",
                "give max_steps, or schedule constant",
            )
        self.spec = spec
        self.total_steps = total_steps
        self.factor = 1.0
        self._best_loss = math.inf
        self._stalled = 0

    def at(self, step: int) -> float:
        """The rate of a step (from 0)."""
        return scheduled(self.spec, step, self.total_steps) * self.factor

    def obey(self, orders: Orders, step: int) -> bool:
        """Let the rate of the coming `step` (from 0) be what was asked for, and the schedule go on from there."""
        before = self.factor
        planned = scheduled(self.spec, step, self.total_steps)
        if orders.learning_rate is not None and planned > 0:
            self.factor = orders.learning_rate / planned
        self.factor *= orders.learning_rate_factor
        return self.factor != before

    def validated(self, loss: float) -> None:
        """With schedule plateau: half the rate after three validations that brought the loss no further."""
        if self.spec.schedule != "plateau":
            return
        if loss < self._best_loss - PLATEAU_SHARE * abs(loss):
            self._best_loss, self._stalled = loss, 0
            return
        self._stalled += 1
        if self._stalled >= PLATEAU_PATIENCE:
            self.factor, self._stalled = self.factor * 0.5, 0

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs."""
        return {"factor": self.factor, "best_loss": self._best_loss, "stalled": self._stalled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.factor, self._best_loss, self._stalled = state["factor"], state["best_loss"], state["stalled"]
