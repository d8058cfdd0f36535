"""The reporter of a job folder: events out, commands in, both cheap enough for every step."""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from explorer import files
from explorer.engine.events_file import EventReader, EventWriter
from explorer.engine.jobs import JobFolder
from explorer.errors import Cancelled
from explorer.reporter import NO_ORDERS, Orders
from explorer.schemas.events import Artifact, Finding, Log, Metric, Progress, Severity, State
from explorer.schemas.jobs import Command, ControlLine

# Screens repaint at 4 Hz, so progress and metrics are written no oftener.
FLUSH_INTERVAL_S = 0.25
PAUSE_POLL_S = 0.05
# What is being done now may last minutes in silence, so a new message is written at once, up to so many times a second.
NEWS_PER_S = 8


class JobReporter:
    """A `Reporter` over a job folder. Metrics and progress are written every quarter second, a new message at once."""

    def __init__(self, job: JobFolder, writer: EventWriter) -> None:
        self._job = job
        self._writer = writer
        self._commands = EventReader(job.control_path)
        # Asking an open file for its size is several times cheaper than asking for a path's.
        self._control_fd = os.open(job.control_path, os.O_RDONLY | os.O_CREAT, 0o600)
        self._progress: tuple[float, float | None, str, str, float | None] | None = None
        self._message = ""
        self._news_s: deque[float] = deque([-1.0] * NEWS_PER_S, maxlen=NEWS_PER_S)
        self._steps: list[int] = []
        self._values: dict[str, list[float]] = {}
        self._next_flush_s = 0.0
        self._orders = NO_ORDERS

    @property
    def folder(self) -> Path:
        return self._job.artifacts_path

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        # Most are replaced by the next before they are written.
        self._progress = (done, total, message, unit, seconds_left)
        if message != self._message and (now := time.monotonic()) - self._news_s[0] >= 1.0:
            self._message = message
            self._news_s.append(now)
            self.flush()
        else:
            self._flush_when_due()

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        if values.keys() != self._values.keys():
            self._flush_metrics()
            self._values = {name: [] for name in values}
        self._steps.extend(steps)
        for name, column in values.items():
            self._values[name].extend(column)
        self._flush_when_due()

    def log(self, text: str, level: Severity = "info") -> None:
        self.flush()
        self._writer.write(Log(text=text, level=level))

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self.flush()
        self._writer.write(Finding(severity=severity, title=title, evidence=evidence, remedy=remedy))

    @contextmanager
    def artifact(self, name: str, step: int | None = None) -> Iterator[Path]:
        target = self.folder / name
        with files.written_by_rename(target) as path:
            yield path
            # A checkpoint must never know of steps that the events do not.
            self.flush()
        self._writer.write(Artifact(name=name, bytes=files.size_bytes(target), step=step))

    def control(self) -> Orders:
        self._flush_when_due()
        if os.fstat(self._control_fd).st_size <= self._commands.offset:
            return NO_ORDERS
        if self._read_commands() == "pause":
            self._wait_while_paused()
        orders, self._orders = self._orders, NO_ORDERS
        return orders

    def flush(self) -> None:
        """Write what was gathered."""
        self._flush_metrics()
        if self._progress is not None:
            done, total, message, unit, seconds_left = self._progress
            self._writer.write(Progress(done=done, total=total, message=message, unit=unit, seconds_left=seconds_left))
            self._progress = None
        self._next_flush_s = time.monotonic() + FLUSH_INTERVAL_S

    def _flush_when_due(self) -> None:
        if time.monotonic() >= self._next_flush_s:
            self.flush()

    def _flush_metrics(self) -> None:
        if self._steps:
            self._writer.write(Metric(steps=self._steps, values=self._values))
            self._steps = []
            self._values = {name: [] for name in self._values}

    def _read_commands(self) -> Command | None:
        """The last pause or resume among the new commands; remembers one-shot ones and raises on cancel."""
        standing: Command | None = None
        for line in self._commands.read_lines():
            try:
                asked = ControlLine.model_validate_json(line)
            except ValidationError:
                continue
            if asked.command == "cancel":
                self.flush()
                raise Cancelled
            if asked.command in ("pause", "resume"):
                standing = asked.command
            else:
                self._orders = self._orders.then(orders(asked))
        return standing

    def _wait_while_paused(self) -> None:
        self.flush()
        self._writer.write(State(state="paused"))
        while self._read_commands() != "resume" and not self._orders.stop:
            time.sleep(PAUSE_POLL_S)
        self._writer.write(State(state="running"))


def orders(line: ControlLine) -> Orders:
    """A one-shot line of `control.jsonl` as a capability takes it."""
    if line.command != "set":
        return Orders(checkpoint=line.command == "checkpoint", stop=line.command == "stop")
    every = line.values.get("log_every_steps")
    return Orders(
        learning_rate=line.values.get("learning_rate"),
        learning_rate_factor=line.values.get("learning_rate_factor", 1.0),
        log_every_steps=None if every is None else max(1, round(every)),
    )
