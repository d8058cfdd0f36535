"""What is known of one job from its spec and events, and its result in labelled words."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from explorer.schemas.events import Artifact, Event, Failure, Finding, Log, Progress, Result, State
from explorer.schemas.results import RESULT_ADAPTER, JobResult
from explorer.schemas.specs import Spec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobSummary


@dataclass
class JobDetail:
    """Feed it events in their order, read what to show."""

    job: JobSummary
    spec: Spec | None = None
    last_seq: int = 0
    progress: Progress | None = None
    notes: list[Log] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    artifacts: dict[str, int] = field(default_factory=dict)
    failure: Failure | None = None
    result: JobResult | None = None
    log: str = ""

    def take(self, events: Iterable[Event]) -> None:
        """Learn from events."""
        for event in events:
            self.last_seq = max(self.last_seq, event.seq)
            if isinstance(event, Progress):
                self.progress = event
            elif isinstance(event, Log):
                self.notes.append(event)
            elif isinstance(event, Finding):
                self.findings.append(event)
            elif isinstance(event, Artifact):
                self.artifacts[event.name] = event.bytes
            elif isinstance(event, Failure):
                self.failure = event
            elif isinstance(event, Result):
                self.result = RESULT_ADAPTER.validate_python(event.result)
            elif isinstance(event, State) and event.state == "running":
                self.failure = None

    @property
    def all_findings(self) -> list[Finding]:
        """Those said on the way and those of the result, each once."""
        told: list[Finding] = [*self.findings, *getattr(self.result, "findings", [])]
        return list({(item.severity, item.title, item.evidence): item for item in told}.values())


async def read_detail(engine: Engine, job: JobSummary, log_bytes: int = 0) -> JobDetail:
    """Everything that an ended job left; `log_bytes` of its output, too. Raises `ExplorerError`."""
    detail = JobDetail(job, spec=await engine.spec(job.id))
    if log_bytes:
        detail.log = await engine.log(job.id, log_bytes)
    if not job.active:
        async with aclosing(cast("AsyncGenerator[Event, None]", engine.follow(job.id))) as events:
            async for event in events:
                detail.take([event])
    return detail
