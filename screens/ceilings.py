"""The latest measured limits of this machine, for every screen that compares with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from screens.base import ExplorerScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from explorer.schemas.jobs import JobSummary
    from explorer.schemas.results import CeilingsResult
    from screens.job_detail import JobDetail

KIND = "ceilings"


@dataclass
class CeilingsRead(Message):
    """What a finished measurement left."""

    detail: JobDetail


class KnowsCeilings(ExplorerScreen):
    """Mix in, call `read_ceilings` when jobs change, override `ceilings_changed`, read `ceilings`."""

    def __init__(self) -> None:
        super().__init__()
        self.ceilings: CeilingsResult | None = None
        self._ceilings_job = ""

    def ceilings_changed(self) -> None:
        """Another measurement is the latest, or none is left."""

    def read_ceilings(self) -> None:
        """Read the newest finished measurement, unless it is the one that is known."""
        job = newest(self.explorer.jobs.values())
        if job is None and self.ceilings is not None:
            self.ceilings, self._ceilings_job = None, ""
            self.ceilings_changed()
        elif job is not None and job.id != self._ceilings_job and self.engine is not None:
            from screens.job_detail import read_detail

            self.ask(read_detail(self.engine, job), CeilingsRead, group="ceilings")

    def on_ceilings_read(self, message: CeilingsRead) -> None:
        from explorer.schemas.results import CeilingsResult

        if isinstance(message.detail.result, CeilingsResult):
            self.ceilings, self._ceilings_job = message.detail.result, message.detail.job.id
            self.ceilings_changed()


def newest(jobs: Iterable[JobSummary]) -> JobSummary | None:
    """The finished measurement that was made last."""
    found = [job for job in jobs if job.kind == KIND and job.state == "done"]
    return max(found, key=lambda job: job.created, default=None)


def active(jobs: Iterable[JobSummary]) -> JobSummary | None:
    """The measurement that runs or waits; else the last one when it failed."""
    found = [job for job in jobs if job.kind == KIND]
    last = max(found, key=lambda job: (job.active, job.created), default=None)
    return last if last is not None and (last.active or last.state in ("failed", "lost")) else None
