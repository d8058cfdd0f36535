"""What a job says while it runs: one JSON line each, in the order of `seq`."""

import time
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from explorer.schemas.base import Record

JobState = Literal["queued", "running", "paused", "done", "failed", "cancelled", "lost"]
FINAL_STATES: frozenset[JobState] = frozenset({"done", "failed", "cancelled", "lost"})
Severity = Literal["info", "warning", "error"]


class EventBase(Record):
    """`seq` counts from 1 within a job; `time` is Unix seconds."""

    seq: int = 0
    time: float = Field(default_factory=time.time)


class Progress(EventBase):
    """How far the job is: `done` of `total` in `unit`; `total` None when it cannot be known, as `seconds_left`."""

    kind: Literal["progress"] = "progress"
    done: float
    total: float | None = None
    unit: str = ""
    message: str = ""
    seconds_left: float | None = None


class Metric(EventBase):
    """Values over steps in columns: every list in `values` is as long as `steps`."""

    kind: Literal["metric"] = "metric"
    steps: list[int]
    values: dict[str, list[float]]


class Log(EventBase):
    """One line for a person."""

    kind: Literal["log"] = "log"
    text: str
    level: Severity = "info"


class Finding(EventBase):
    """A checked statement: what was found, the evidence for it and what to do about it."""

    kind: Literal["finding"] = "finding"
    severity: Severity
    title: str
    evidence: str = ""
    remedy: str = ""


class Artifact(EventBase):
    """A finished file or folder below the job's `artifacts/`; `bytes` counts everything inside, `step` is a checkpoint's."""

    kind: Literal["artifact"] = "artifact"
    name: str
    bytes: int
    step: int | None = None


class State(EventBase):
    """The job's state from here on; `reason` is a headline for people (result, cause, device)."""

    kind: Literal["state"] = "state"
    state: JobState
    reason: str = ""
    pid: int | None = None


class Result(EventBase):
    """The answer: `result` is a dumped result schema with its own `kind`."""

    kind: Literal["result"] = "result"
    result: dict[str, Any]


class Failure(EventBase):
    """Why the job failed: `message` and `remedy` for people, `cause` (exception, signal) and the last log lines.

    `details` are facts for programs, such as the operator that a conversion lacks.
    """

    kind: Literal["failure"] = "failure"
    message: str
    remedy: str = ""
    cause: str = ""
    log_tail: list[str] = Field(default_factory=list)
    details: dict[str, str] = Field(default_factory=dict)


Event = Progress | Metric | Log | Finding | Artifact | State | Result | Failure
AnyEvent = Annotated[Event, Field(discriminator="kind")]
EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(AnyEvent)
