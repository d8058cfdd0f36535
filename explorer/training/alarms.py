"""What a person should look at while a training runs: each alarm is said once, and again only after it cleared."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.reporter import Reporter
from explorer.schemas.events import Severity

# The smoothed loss follows the last so many steps.
SMOOTHED_STEPS = 50
# How long the smoothed loss must stay high, and how long without any improvement makes a plateau.
DIVERGED_STEPS = 100
PLATEAU_STEPS = 1000
PLATEAU_RUN_SHARE = 1 / 3
LOST_SHARE = 0.5
NOISE_WIDTHS = 6
IMPROVEMENT_SHARE = 0.02
STARVED_SHARE = 0.5
STARVED_STEPS = 5
MEMORY_SHARE, MEMORY_CLEAR_SHARE = 0.9, 0.85
LEAST_SCALE = 1.0
SKIPPED_STEPS = 50


class Alarms:
    """Says alarms as findings and keeps their titles with the step in `raised`."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._standing: set[str] = set()
        self.raised: list[str] = []
        self.trend = LossTrend()
        self._scale = 0.0
        self._skipped = 0

    def losses(self, step: int, values: Sequence[float]) -> None:
        """Losses of steps up to `step`: has it diverged, or stopped improving?"""
        trend = self.trend
        for value in values:
            trend.add(value)
        evidence = f"step {step}: smoothed {trend.smoothed:.4g}, best {trend.best:.4g}"
        self.judge("the loss diverges", trend.diverged, step, evidence, "lower learning_rate, or go back to a checkpoint")
        since = f"{evidence}, no better for {trend.since_better} steps"
        self.judge("the loss is on a plateau", trend.stalled, step, since, "stop here, or change learning_rate", "info")

    def validation(self, step: int, loss: float) -> None:
        """Loss on held-out data."""
        evidence = f"step {step}: {loss}"
        self.judge("the validation loss is not finite", not math.isfinite(loss), step, evidence, "look at the held-out samples")

    def data_share(self, step: int, share: float | None) -> None:
        """Median share of the data in the last timed steps."""
        starved = share is not None and share > STARVED_SHARE
        evidence = f"step {step}: {share or 0:.0%} of a step goes by before its batch is there"
        self.judge("the training waits for data", starved, step, evidence, "read the data faster: more workers, smaller files")

    def memory(self, step: int, shares: Mapping[str, float]) -> None:
        """Share of its limit that process and device take."""
        for name, share in shares.items():
            title = f"memory of {name} is near its limit"
            bound = MEMORY_CLEAR_SHARE if title in self._standing else MEMORY_SHARE
            self.judge(title, share >= bound, step, f"step {step}: {share:.0%} of it", "make the batch or the model smaller")

    def scale(self, step: int, steps: int, scale: float) -> None:
        """Gradient scale of mixed precision after `steps` more steps; each skipped one halves it."""
        halvings = round(math.log2(self._scale / scale)) if self._scale > scale > 0 else 0
        self._skipped = self._skipped + halvings if halvings >= steps else halvings
        self._scale = scale
        low = scale < LEAST_SCALE or self._skipped >= SKIPPED_STEPS
        evidence = f"step {step}: scale {scale:g}, {self._skipped} steps skipped in a row"
        self.judge("gradients overflow float16 again and again", low, step, evidence, "take precision bfloat16 or float32")

    def judge(self, title: str, on: bool, step: int, evidence: str, remedy: str, severity: Severity = "warning") -> None:
        """Say an alarm when it comes up; one that is off may come up again."""
        if on and title not in self._standing:
            self._standing.add(title)
            self.raised.append(f"{title} at step {step}")
            self._report.finding(severity, title, evidence, remedy)
        elif not on:
            self._standing.discard(title)

    def state_dict(self) -> dict[str, Any]:
        """Plain values, so that a resumed run raises what the uninterrupted one would."""
        trend = dict(vars(self.trend))
        return {
            "standing": sorted(self._standing),
            "raised": list(self.raised),
            "trend": trend,
            "scale": [self._scale, self._skipped],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._standing, self.raised = set(state["standing"]), list(state["raised"])
        vars(self.trend).update(state["trend"])
        self._scale, self._skipped = state["scale"]


class LossTrend:
    """A moving average of the loss, its best value, and how long it has been away from it.

    Measures are relative to the run itself: what was learned (first minus best average), and the spread of the loss at the best.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.smoothed = self.first = self.best = 0.0
        self.spread = self.best_spread = 0.0
        self.high_for = self.since_better = 0

    def add(self, loss: float) -> None:
        self.steps += 1
        # Plain means over the first steps, so that neither starts at an accident.
        weight = 1 / min(self.steps, SMOOTHED_STEPS)
        self.spread += weight * (abs(loss - self.smoothed) - self.spread) if self.steps > 1 else 0.0
        self.smoothed += weight * (loss - self.smoothed)
        if self.steps <= SMOOTHED_STEPS:
            self.first = self.best = self.smoothed
            self.best_spread = self.spread
            return
        learned = self.first - self.best
        self.since_better += 1
        if self.smoothed < self.best - IMPROVEMENT_SHARE * max(learned, self.best_spread):
            self.best, self.best_spread, self.since_better = self.smoothed, self.spread, 0
        high = self.best + max(LOST_SHARE * learned, NOISE_WIDTHS * self.best_spread, 0.1 * abs(self.best))
        self.high_for = self.high_for + 1 if self.smoothed > high else 0

    @property
    def diverged(self) -> bool:
        return self.high_for >= DIVERGED_STEPS

    @property
    def stalled(self) -> bool:
        return self.since_better >= max(PLATEAU_STEPS, PLATEAU_RUN_SHARE * self.steps)
