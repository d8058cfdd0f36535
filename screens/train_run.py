"""What is known of one training from its history and its events, without any widget."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.schemas.events import FINAL_STATES, Artifact, Event, Failure, Finding, Log, Metric, Progress, Result, State

if TYPE_CHECKING:
    from explorer.schemas.curves import RunCurves
    from explorer.schemas.jobs import JobSummary
    from explorer.schemas.train_spec import TrainSpec

HELD_OUT = "val_"
DEVICE_WORDS = "training on "
RATE_FACTOR = re.compile(r"^learning rate .*\(([\d.]+(?:e[+-]?\d+)?) of the schedule\)")
LOG_LINES = 60
SMOOTHING = 0.95
HIGHER_IS_BETTER = ("acc", "f1", "auc", "precision", "recall", "score", "iou", "r2", "bleu")
SAME_RATE = math.log(1.1)  # a schedule moves the rate by less from one reading to the next


@dataclass
class Best:
    """The best value of a held-out metric and the step it was reached at."""

    value: float
    step: int


@dataclass
class Run:
    """One training: feed it its history once, then events in their order; read what to show."""

    job: JobSummary
    spec: TrainSpec | None = None
    last_seq: int = 0
    progress: Progress | None = None
    device: str = ""
    reason: str = ""
    latest: dict[str, float] = field(default_factory=dict)
    smoothed: float | None = None
    checkpoints: dict[int, Artifact] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    failure: Failure | None = None
    result: dict[str, object] | None = None
    asked_rate: float = 1.0
    rate_factor: float = 1.0
    _held_out: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    _last_step: dict[str, int] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """What its curves are asked for by."""
        return f"job:{self.job.id}"

    def remember(self, curves: RunCurves) -> None:
        """Learn from the history, which holds each curve's extremes and last value; what events said since is newer."""
        live, self._held_out = self._held_out, {}
        for curve in curves.curves:
            self._values(curve.name, [int(x) for x in curve.xs], curve.ys)
            if curve.last is not None:
                self.latest.setdefault(curve.name, curve.last)
        for name, values in live.items():
            self._values(name, [step for step, _ in values], [value for _, value in values])

    def take(self, events: Iterable[Event]) -> list[Metric | int]:
        """Learn from events; gives what the charts need: metrics, and steps to which they go back."""
        found: list[Metric | int] = []
        for event in events:
            self.last_seq = max(self.last_seq, event.seq)
            if isinstance(event, Metric):
                back = self._steps_back(event)
                found += [event] if back is None else [back, event]
                self._metric(event)
            else:
                self._other(event)
        return found

    @property
    def seconds_left(self) -> float | None:
        """What the worker last thought; None while nothing moves."""
        return self.progress.seconds_left if self.progress is not None and self.job.state == "running" else None

    @property
    def step(self) -> float:
        """Steps done."""
        return self.progress.done if self.progress is not None else 0.0

    @property
    def total(self) -> float | None:
        return self.progress.total if self.progress is not None else None

    @property
    def extent(self) -> float | None:
        """The steps that the charts span: all that are planned while it may go on, else those that were done."""
        return self.total if self.job.active or self.job.resumable else self.step or None

    @property
    def alarms(self) -> list[Finding]:
        """What a person should look at, oldest first."""
        return [found for found in self.findings if found.severity != "info"]

    @property
    def best(self) -> dict[str, Best]:
        """The best value of each held-out metric."""
        return {name: best for name, values in self._held_out.items() if (best := best_of(name, values)) is not None}

    @property
    def rate(self) -> float | None:
        """The learning rate, with what was asked for and has not come back yet."""
        rate = self.latest.get("lr")
        return None if rate is None else rate * self.asked_rate

    def ask_rate(self, factor: float) -> None:
        """Another factor on the learning rate was asked for."""
        self.asked_rate *= factor
        self.rate_factor *= factor

    def _metric(self, event: Metric) -> None:
        for name, values in event.values.items():
            if values:
                if name == "lr":
                    self._rate_came(values)
                self.latest[name] = values[-1]
                self._last_step[name] = event.steps[-1]
                self._values(name, event.steps, values)

    def _values(self, name: str, steps: list[int], values: list[float]) -> None:
        if name == "loss":
            for value in values:
                if math.isfinite(value):
                    self.smoothed = value if self.smoothed is None else SMOOTHING * self.smoothed + (1 - SMOOTHING) * value
        if name.startswith(HELD_OUT):
            known = self._held_out.setdefault(name, [])
            last = known[-1][0] if known else 0
            known += [(step, value) for step, value in zip(steps, values, strict=True) if step > last]

    def _rate_came(self, values: list[float]) -> None:
        """Count off what was asked for when the rate jumps."""
        before = self.latest.get("lr")
        for value in values:
            if before and value > 0 and self.asked_rate != 1 and abs(jump := math.log(value / before)) > SAME_RATE:
                left = math.log(self.asked_rate) - jump
                self.asked_rate = math.exp(left) if abs(left) > SAME_RATE else 1.0
            before = value

    def _steps_back(self, event: Metric) -> int | None:
        """The step behind which an interrupted training goes on; what was said beyond it is forgotten."""
        last = [self._last_step[name] for name in event.values if name in self._last_step]
        if not last or not event.steps or event.steps[0] >= min(last):
            return None
        back = event.steps[0] - 1
        self._last_step = {name: min(step, back) for name, step in self._last_step.items()}
        self._held_out = {name: [item for item in values if item[0] <= back] for name, values in self._held_out.items()}
        return back

    def _other(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.progress = event
        elif isinstance(event, State):
            self.reason = event.reason
            if event.state in FINAL_STATES:
                self.asked_rate = 1.0
            if event.state == "running":
                self.failure = None
        elif isinstance(event, Log):
            self._log(event.text)
        elif isinstance(event, Finding):
            self.findings.append(event)
        elif isinstance(event, Artifact):
            if event.step is not None:
                self.checkpoints.pop(event.step, None)
                self.checkpoints[event.step] = event
        elif isinstance(event, Failure):
            self.failure = event
        elif isinstance(event, Result):
            self.result = event.result
            self._name_device(event.result)

    def _log(self, text: str) -> None:
        self.notes.append(text)
        if text.startswith(DEVICE_WORDS):
            self.device = text.removeprefix(DEVICE_WORDS).removeprefix("the ")
        if found := RATE_FACTOR.search(text):
            self.rate_factor = float(found[1])

    def _name_device(self, result: dict[str, object]) -> None:
        """A training that said nothing of its device has it in its result."""
        device, why = result.get("device"), result.get("device_reason")
        if device and not self.device:
            self.device = f"{device} ({why})" if why else str(device)


def is_share(name: str) -> bool:
    """Whether a metric is a share of 0..1 of which more is better, such as an accuracy."""
    return any(word in name for word in HIGHER_IS_BETTER)


def best_of(name: str, values: Iterable[tuple[int, float]]) -> Best | None:
    """The best finite value, the first of equals."""
    finite = [(step, value) for step, value in values if math.isfinite(value)]
    if not finite:
        return None
    sign = -1 if is_share(name) else 1
    step, value = min(finite, key=lambda item: sign * item[1])
    return Best(value, step)
