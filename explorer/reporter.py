"""What a capability may say while it runs; all that ties it to the outside."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from explorer.files import written_by_rename
from explorer.schemas.events import Severity


class Reporter(Protocol):
    """The outside as a capability sees it. Every method is cheap; none raises but `control`."""

    @property
    def folder(self) -> Path:
        """Where artifacts of this job lie; may hold those of an interrupted earlier run of the same job."""
        ...

    def progress(self, done: float, total: float | None, message: str = "", unit: str = "") -> None:
        """Say how far the work is."""

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        """Say values over steps, in columns as long as `steps`."""

    def log(self, text: str, level: Severity = "info") -> None:
        """Say one line."""

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        """Say a checked statement."""

    def artifact(self, name: str) -> AbstractContextManager[Path]:
        """A temporary path to write a file or folder to; it appears as `folder / name` when the block ends well."""
        ...

    def control(self) -> frozenset[str]:
        """Called at step boundaries: raises `Cancelled`, waits while paused, returns one-shot commands such as "checkpoint"."""
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

    def progress(self, done: float, total: float | None, message: str = "", unit: str = "") -> None:
        if message:
            self.messages.append(message)

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        self.metrics.append((list(steps), {name: list(column) for name, column in values.items()}))

    def log(self, text: str, level: Severity = "info") -> None:
        self.messages.append(text)

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self.findings.append((severity, title))

    @contextmanager
    def artifact(self, name: str) -> Iterator[Path]:
        with written_by_rename(self._folder / name) as path:
            yield path

    def control(self) -> frozenset[str]:
        return frozenset()
