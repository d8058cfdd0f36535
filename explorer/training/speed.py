"""Listens to what a training says, for its median speed."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from explorer.reporter import Orders, Reporter
from explorer.schemas.events import Severity

COLUMN = "samples_per_s"


class SpeedReporter:
    """Passes everything on to `report` and keeps the speeds that are said."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._speeds: list[float] = []

    @property
    def samples_per_s(self) -> float | None:
        """The median over what was said, each of which covers a stretch of steps; None before."""
        return statistics.median(self._speeds) if self._speeds else None

    @property
    def folder(self) -> Path:
        return self._report.folder

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        self._report.progress(done, total, message, unit, seconds_left)

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        self._speeds.extend(values.get(COLUMN, ())[:1])
        self._report.metric(steps, values)

    def log(self, text: str, level: Severity = "info") -> None:
        self._report.log(text, level)

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self._report.finding(severity, title, evidence, remedy)

    def artifact(self, name: str, step: int | None = None) -> AbstractContextManager[Path]:
        return self._report.artifact(name, step)

    def control(self) -> Orders:
        return self._report.control()
