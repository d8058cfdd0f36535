"""The worker of a data parallel training: it starts the processes that train, waits for them and says how they ended."""

import importlib
import os
import signal
from typing import Any, TypeGuard

from explorer.engine import rank
from explorer.engine.events_file import EventWriter
from explorer.engine.jobs import JobFolder
from explorer.engine.rank_outcome import Outcome, first_cause, forget_outcomes, read_outcomes
from explorer.errors import Cancelled
from explorer.schemas.events import Failure, Log
from explorer.schemas.results import RESULT_ADAPTER, JobResult
from explorer.schemas.specs import Spec, TrainSpec
from explorer.training.rank_life import shared_device

# What the launcher starts on the job's folder: the same program, which finds in its environment that it is a rank.
MODULE = "explorer.engine.worker"


class RankFailedError(Exception):
    """The ranks ended badly, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def wanted(spec: Spec) -> TypeGuard[TrainSpec]:
    """Whether a worker has to start ranks for it; a rank has not."""
    return isinstance(spec, TrainSpec) and (spec.processes > 1 or spec.nodes > 1) and rank.own_rank() is None


def run_ranks(job: JobFolder, spec: TrainSpec, writer: EventWriter) -> JobResult | None:
    """Train `spec` in its processes and give the result of rank 0, or None when rank 0 is on another machine.

    `writer` stays untouched while they run, since rank 0 writes events then. Raises `Cancelled`, `ExplorerError` for what
    cannot start, and `RankFailedError`.
    """
    _say_device(spec, writer)
    forget_outcomes(job)
    os.environ[rank.PARENT] = str(os.getpid())
    # Torch stays outside of the engine.
    launcher: Any = importlib.import_module("explorer.training.rank_launcher")
    try:
        deaths = launcher.launch(spec, MODULE, str(job.path))
    finally:
        writer.catch_up()
    return _judged(job, {death.rank: death.exit_code for death in deaths}, spec)


def _say_device(spec: TrainSpec, writer: EventWriter) -> None:
    if shared_device(spec) is not spec:
        writer.write(Log(text="trains on the CPU with gloo: torch has no backend that joins processes on MPS"))


def _judged(job: JobFolder, exit_codes: dict[int, int], spec: TrainSpec) -> JobResult | None:
    outcomes = read_outcomes(job)
    if exit_codes:
        raise RankFailedError(failure_of(outcomes, exit_codes, spec.processes * spec.nodes, job.log_tail_lines()))
    if any(outcome.state == "cancelled" for outcome in outcomes):
        raise Cancelled
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    return RESULT_ADAPTER.validate_python(results[0]) if results else None


def failure_of(outcomes: list[Outcome], exit_codes: dict[int, int], size: int, log_tail: list[str]) -> Failure:
    """Why a group ended: what a rank said of itself, else the signal that killed one, else what the others saw of it."""
    failure = first_cause(outcomes)
    if failure is not None:
        return failure
    for number, code in exit_codes.items():
        if code < 0 and code != -signal.SIGTERM:
            name = signal.Signals(-code).name
            remedy = "resume it from its last checkpoint; after SIGKILL without a known hand, look for memory that ran out"
            return Failure(message=f"rank {number} of {size} was killed by {name}", remedy=remedy, cause=name, log_tail=log_tail)
    if any(outcome.echo for outcome in outcomes):
        message = "a process of this training on another machine is gone"
        return Failure(
            message=message, remedy="see the job there; resume it on every machine", cause="peer gone", log_tail=log_tail
        )
    number, code = next(iter(exit_codes.items()))
    how = "was ended by SIGTERM" if code == -signal.SIGTERM else f"left with exit code {code}"
    return Failure(message=f"rank {number} of {size} {how}", remedy="see its log", cause=f"exit {code}", log_tail=log_tail)
