"""A job as others see it, and what can be said to it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from explorer.schemas.base import Record
from explorer.schemas.events import FINAL_STATES, JobState
from explorer.schemas.specs import AnySpec

Command = Literal["pause", "resume", "cancel", "checkpoint", "stop", "set"]
# What `set` may change in a running training; a factor multiplies what the schedule says.
Setting = Literal["learning_rate", "learning_rate_factor", "log_every_steps"]
PROTOCOL = 2


class JobRecord(Record):
    """The content of `spec.json`: the whole request, when (Unix seconds), on which host and in which folder it was made."""

    id: str
    created: float
    host: str
    cwd: str
    model: str
    spec: AnySpec


class JobSummary(Record):
    """One line about a job: `progress` is 0..1 or None, times are Unix seconds, `headline` the last word of its state.

    `seconds_left` is what the worker last thought, None while it cannot tell or does not run.
    """

    id: str
    kind: str
    model: str
    state: JobState
    headline: str = ""
    message: str = ""
    progress: float | None = None
    seconds_left: float | None = None
    created: float
    started: float | None = None
    ended: float | None = None
    parents: list[str] = Field(default_factory=list)
    resumable: bool = False
    last_seq: int = 0

    @property
    def active(self) -> bool:
        return self.state not in FINAL_STATES


class JobRemoved(Record):
    """A job's folder is gone."""

    id: str


class ControlLine(Record):
    """One line of `control.jsonl`; `values` belong to `set`."""

    command: Command
    values: dict[Setting, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(default_factory=dict)


class EngineStatus(Record):
    """What the engine says of itself; `uptime_s` in seconds."""

    version: str
    protocol: int
    pid: int
    host: str
    home: str
    socket: str
    uptime_s: float
    clients: int
    slots: int
    running: int
    queued: int
    python: str


class Hello(Record):
    """The first line in each direction of a connection."""

    protocol: int = PROTOCOL
    version: str
    pid: int
    started: float = 0.0
    busy: bool = False


class Call(Record):
    """A request on the wire; `id` comes back with the answer."""

    id: int
    method: str
    params: dict[str, Any] = Field(default_factory=dict)


class Reply(Record):
    """An answer, one item of a stream (`more`), or an error sentence with its remedy."""

    id: int
    result: Any = None
    more: bool = False
    error: str | None = None
    remedy: str = ""
