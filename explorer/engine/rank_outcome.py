"""What each process of a data parallel training leaves in its job's folder: how it ended."""

import time
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from explorer import files
from explorer.engine.jobs import JobFolder
from explorer.schemas.base import Record
from explorer.schemas.events import Failure


class Outcome(Record):
    """The end of one rank of `size`; `echo` marks a failure that only says that another process is gone."""

    rank: int
    size: int
    state: Literal["done", "cancelled", "failed"]
    result: dict[str, Any] | None = None
    failure: Failure | None = None
    echo: bool = False
    time: float = Field(default_factory=time.time)


def write_outcome(job: JobFolder, outcome: Outcome) -> None:
    """Leave it for the process that started the ranks."""
    with files.written_by_rename(_folder(job) / f"{outcome.rank}.json") as path:
        path.write_text(outcome.model_dump_json())


def read_outcomes(job: JobFolder) -> list[Outcome]:
    """The outcomes so far, in the order in which they came."""
    found = []
    for path in _folder(job).glob("[0-9]*.json"):
        try:
            found.append(Outcome.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError):
            continue
    return sorted(found, key=lambda outcome: outcome.time)


def forget_outcomes(job: JobFolder) -> None:
    """Start the next run of this job without those of the last."""
    files.remove(_folder(job))


def first_cause(outcomes: list[Outcome]) -> Failure | None:
    """The first failure that is no echo of another, naming its rank; None when there is none."""
    for outcome in outcomes:
        if outcome.failure is not None and not outcome.echo:
            if outcome.rank == 0:
                return outcome.failure
            message = f"rank {outcome.rank} of {outcome.size}: {outcome.failure.message}"
            return outcome.failure.model_copy(update={"message": message})
    return None


def _folder(job: JobFolder) -> Path:
    return job.path / "ranks"
