"""The async API to the engine: all that screens and the command line hold."""

from collections.abc import AsyncIterator
from typing import Protocol

from explorer.schemas.events import Event
from explorer.schemas.jobs import Command, EngineStatus, JobRemoved, JobSummary
from explorer.schemas.readings import HardwareSample, Inventory
from explorer.schemas.results import JobResult
from explorer.schemas.specs import Spec


class Engine(Protocol):
    """What the engine does for its clients. Every call raises `ExplorerError` with one sentence when it cannot."""

    async def submit(self, spec: Spec) -> JobSummary:
        """Queue a job and give its first summary."""
        ...

    async def answer(self, spec: Spec) -> JobResult:
        """Run a short spec such as an inspection at once, keep no job, give its result."""
        ...

    async def jobs(self) -> list[JobSummary]:
        """Every kept job, oldest first."""
        ...

    async def job(self, job_id: str) -> JobSummary:
        """One job, by its ID or any unique ending or beginning of it."""
        ...

    async def spec(self, job_id: str) -> Spec:
        """What a job was asked to do."""
        ...

    async def log(self, job_id: str, tail_bytes: int = 65_536) -> str:
        """The end of a job's standard output and error."""
        ...

    async def control(self, job_id: str, command: Command) -> JobSummary:
        """Pause, resume, cancel or checkpoint. Resuming an ended job that has a checkpoint queues it again."""
        ...

    async def remove(self, job_id: str) -> None:
        """Delete an ended job's folder."""
        ...

    def follow(self, job_id: str, since: int = 0) -> AsyncIterator[Event]:
        """Events with `seq` above `since`, first from the file, then live; ends after the job's last state."""
        ...

    def watch_jobs(self) -> AsyncIterator[JobSummary | JobRemoved]:
        """Every job's summary now, then each change, latest wins; never ends."""
        ...

    async def inventory(self) -> Inventory:
        """What this machine can compute with; readings still `pending` fill in on a later call."""
        ...

    def watch_hardware(self) -> AsyncIterator[HardwareSample]:
        """A live sample each second while somebody watches; never ends."""
        ...

    async def status(self) -> EngineStatus: ...

    async def stop(self) -> None:
        """End the engine; running jobs go on and are adopted by the next one."""
        ...

    async def aclose(self) -> None:
        """Hang up; jobs and engine go on."""
        ...
