"""What a capability may say while it runs; all that ties it to the outside."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from explorer.files import written_by_rename
from explorer.schemas.events import Severity


@dataclass(frozen=True)
class Orders:
    """What came in since the last call of `control`: one-shot wishes that a training obeys and other jobs pass over.

    `stop` ends it well after this step. `learning_rate` is what the rate should be now, `learning_rate_factor` multiplies what
    it is after that; both last, on top of the schedule.
    """

    checkpoint: bool = False
    stop: bool = False
    learning_rate: float | None = None
    learning_rate_factor: float = 1.0
    log_every_steps: int | None = None

    def __bool__(self) -> bool:
        return self != NO_ORDERS

    def then(self, later: "Orders") -> "Orders":
        """Both in one: later settings win, factors multiply."""
        newer = later.learning_rate is not None
        return Orders(
            checkpoint=self.checkpoint or later.checkpoint,
            stop=self.stop or later.stop,
            learning_rate=later.learning_rate if newer else self.learning_rate,
            learning_rate_factor=(1.0 if newer else self.learning_rate_factor) * later.learning_rate_factor,
            log_every_steps=later.log_every_steps or self.log_every_steps,
        )


NO_ORDERS = Orders()


class Reporter(Protocol):
    """The outside as a capability sees it. Every method is cheap; none raises but `control`."""

    @property
    def folder(self) -> Path:
        """Where artifacts of this job lie; may hold those of an interrupted earlier run of the same job."""
        ...

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        """Say how far the work is."""

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        """Say values over steps, in columns as long as `steps`."""

    def log(self, text: str, level: Severity = "info") -> None:
        """Say one line."""

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        """Say a checked statement."""

    def artifact(self, name: str, step: int | None = None) -> AbstractContextManager[Path]:
        """A temporary path to write a file or folder to; it appears as `folder / name` when the block ends well.

        What was said before is on disk by then. `step` is a checkpoint's.
        """
        ...

    def control(self) -> Orders:
        """Called at step boundaries: raises `Cancelled`, waits while paused, gives what else was asked for."""
        ...


class QuietReporter:
    """A reporter without a job: keeps artifacts in `folder` and everything said in lists. For tests and plain scripts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.metrics: list[tuple[list[int], dict[str, list[float]]]] = []
        self.messages: list[str] = []
        self.findings: list[tuple[Severity, str]] = []

    @property
    def folder(self) -> Path:
        return self._folder

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        if message:
            self.messages.append(message)

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        self.metrics.append((list(steps), {name: list(column) for name, column in values.items()}))

    def log(self, text: str, level: Severity = "info") -> None:
        self.messages.append(text)

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self.findings.append((severity, title))

    @contextmanager
    def artifact(self, name: str, step: int | None = None) -> Iterator[Path]:
        with written_by_rename(self._folder / name) as path:
            yield path

    def control(self) -> Orders:
        return NO_ORDERS
