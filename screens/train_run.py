"""What is known of one training from its events, without any widget."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from explorer.schemas.events import Artifact, Event, Failure, Finding, Log, Metric, Progress, Result, State
from explorer.schemas.jobs import JobSummary
from screens.text import count, duration, number, percent

LEARNING_RATE = ("learning_rate", "lr")
SPEED = ("samples_per_s", "samples_per_second")
GRADIENT = ("grad_norm", "gradient_norm")
RATE_WINDOW = 40
DEVICE_WORDS = "training on "
LOG_LINES = 30


@dataclass
class Curve:
    """Where a metric is drawn: on the loss or the accuracy chart, under which name, dotted when held out."""

    chart: str
    name: str
    held_out: bool


def curve(metric: str) -> Curve | None:
    """The curve of a metric by its name, such as `val_loss` or `train/accuracy`; None when it is not drawn."""
    chart = "loss" if "loss" in metric else "accuracy" if "acc" in metric else ""
    if not chart:
        return None
    held_out = any(word in metric for word in ("val", "test", "held"))
    return Curve(chart, "val" if held_out else "train", held_out)


@dataclass
class Run:
    """One training: feed it events in their order, read what to show."""

    job: JobSummary
    last_seq: int = 0
    done: float = 0.0
    total: float | None = None
    unit: str = "steps"
    message: str = ""
    device: str = ""
    reason: str = ""
    latest: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)
    points: list[Metric] = field(default_factory=list)
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    checkpoints: list[Artifact] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failure: Failure | None = None
    result: dict[str, object] | None = None
    _pace: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=RATE_WINDOW))

    def take(self, events: Iterable[Event]) -> list[Metric]:
        """Learn from events; gives the metrics among them, for the charts."""
        found = []
        for event in events:
            self.last_seq = max(self.last_seq, event.seq)
            if isinstance(event, Metric):
                self._metric(event)
                found.append(event)
            else:
                self._other(event)
        return found

    @property
    def seconds_left(self) -> float | None:
        """From the pace of the last progress events; None while it cannot be told or nothing moves."""
        if self.total is None or len(self._pace) < 2 or self.job.state != "running":
            return None
        (start_s, start), (end_s, end) = self._pace[0], self._pace[-1]
        if end <= start or end_s <= start_s:
            return None
        return (self.total - end) * (end_s - start_s) / (end - start)

    def headline(self) -> list[str]:
        """Model, state, device with why, job; and how far it is."""
        job = self.job
        where = self.device or self.reason or job.headline
        first = " · ".join(part for part in (job.model, job.state, f"job {job.id}", where) if part)
        total = f" / {count(self.total)}" if self.total else ""
        speed = self._first(SPEED)
        parts = [
            f"{self.unit.rstrip('s') or 'step'} {count(self.done)}{total}",
            f"{count(speed)} samples/s" if speed is not None else "",
            f"{duration(self.seconds_left)} left" if self.seconds_left is not None else self._elapsed(),
            self.message,
        ]
        return [first, " · ".join(part for part in parts if part)]

    def facts(self) -> list[tuple[str, str]]:
        """Labels and values for the side of the charts."""
        losses, accuracies = self._named("loss"), self._named("accuracy")
        facts = [
            ("loss", number(losses.get("train", losses.get("val")))),
            ("loss val", number(losses.get("val"))),
            ("accuracy val", percent(accuracies.get("val", accuracies.get("train")), 1)),
            ("best val", percent(self.best.get("accuracy"), 1) if "accuracy" in self.best else number(self.best.get("loss"))),
            ("learning rate", number(self._first(LEARNING_RATE))),
            ("samples/s", count(self._first(SPEED))),
            ("time left", duration(self.seconds_left)),
            ("state", self.job.state),
            ("checkpoint", self.checkpoints[-1].name if self.checkpoints else "none yet"),
        ]
        gradient = self._first(GRADIENT)
        return facts if gradient is None else [*facts[:5], ("gradient norm", number(gradient)), *facts[5:]]

    def trouble(self) -> list[str]:
        """For a failed or lost training: cause, remedy and the end of its log."""
        if self.job.state not in ("failed", "lost"):
            return []
        failure = self.failure
        message = failure.message if failure else self.reason or self.job.headline or "its worker is gone"
        lines = [f"✗ {self.job.state}: {message}"]
        if failure and failure.cause and failure.cause not in message:
            lines.append(f"cause   {failure.cause}")
        remedy = (failure.remedy if failure else "") or ("r goes on from the last checkpoint" if self.job.resumable else "")
        if remedy:
            lines.append(f"remedy  {remedy}")
        return lines + [f"  {line}" for line in (failure.log_tail if failure else list(self.notes))[-6:]]

    def _metric(self, event: Metric) -> None:
        self.points.append(event)
        for name, values in event.values.items():
            if not values:
                continue
            self.latest[name] = values[-1]
            place = curve(name)
            if place is not None and place.held_out:
                self._keep_best(place.chart, values)

    def _keep_best(self, chart: str, values: list[float]) -> None:
        better = max if chart == "accuracy" else min
        finite = [value for value in values if math.isfinite(value)]
        if finite:
            self.best[chart] = better([*finite, self.best[chart]] if chart in self.best else finite)

    def _other(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._progress(event)
        elif isinstance(event, State):
            self._pace.clear()
            self.reason = event.reason
            if event.state == "running":
                self.failure = None
        elif isinstance(event, Log):
            self.notes.append(event.text)
            if event.text.startswith(DEVICE_WORDS):
                self.device = event.text.removeprefix(DEVICE_WORDS)
        elif isinstance(event, Finding):
            self.findings.append(event)
        elif isinstance(event, Artifact):
            if "checkpoint" in event.name or event.name.endswith(".ckpt"):
                self.checkpoints.append(event)
        elif isinstance(event, Failure):
            self.failure = event
        elif isinstance(event, Result):
            self.result = event.result
            self._name_device(event.result)

    def _name_device(self, result: dict[str, object]) -> None:
        device, why = result.get("device"), result.get("device_reason")
        if device:
            self.device = f"{device} ({why})" if why else str(device)

    def _progress(self, event: Progress) -> None:
        self.done, self.total, self.message = event.done, event.total, event.message
        self.unit = event.unit or self.unit
        self._pace.append((event.time, event.done))

    def _elapsed(self) -> str:
        job = self.job
        return f"took {duration(job.ended - job.started)}" if job.started and job.ended and not job.active else ""

    def _first(self, names: Iterable[str]) -> float | None:
        return next((self.latest[name] for name in names if name in self.latest), None)

    def _named(self, chart: str) -> dict[str, float]:
        """Latest values of a chart's curves by curve name."""
        return {place.name: value for name, value in self.latest.items() if (place := curve(name)) and place.chart == chart}
