"""The process that runs one job: `python -m explorer.engine.worker FOLDER`, by the engine or by hand.

With `--warm` it imports torch first and waits on standard input for the folder's path.
"""

import faulthandler
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from explorer.engine import ranks
from explorer.engine.environment import training_environment
from explorer.engine.events_file import EventWriter
from explorer.engine.headline import headline
from explorer.engine.jobs import JobFolder, LockHeldError
from explorer.engine.rank import own_rank, own_spec, reports_elsewhere, run_rank
from explorer.engine.rank_outcome import first_cause, forget_outcomes, read_outcomes
from explorer.engine.reporting import JobReporter
from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import Reporter
from explorer.schemas.base import Record
from explorer.schemas.events import Failure, Result, State
from explorer.schemas.results import JobResult
from explorer.schemas.specs import Spec
from explorer.training.rank_life import PeerGoneError

# Everything the program can do: the kind of a spec and the function that does it.
CAPABILITIES = {
    "inspect": "explorer.models.inspect:run",
    "values": "explorer.models.values:run",
    "diff": "explorer.models.diff:run",
    "verify": "explorer.inference.verify:run",
    "match": "explorer.models.match:run",
    "layers": "explorer.inference.layers:run",
    "graph": "explorer.models.graph:run",
    "train": "explorer.training.train:run",
    "convert": "explorer.conversion.convert:run",
    "evaluate": "explorer.inference.coreml.evaluate_command:run",
    "operators": "explorer.inference.coreml.operators:run",
    "hints": "explorer.inference.neural_engine.hints_command:run",
    "prove": "explorer.conversion.prove:run",
    "quantize": "explorer.compression.quantize:run",
    "prune": "explorer.compression.prune:run",
    "benchmark": "explorer.inference.benchmark:run",
    "ceilings": "explorer.inference.ceilings:run",
    "export": "explorer.runs.export:run",
}
EXIT_LOCK_HELD = 3


def main(arguments: list[str]) -> int:
    """Exit 0 when the job ended well, 1 when it failed or was cancelled, 3 when another worker has it."""
    if arguments == ["--warm"]:
        importlib.import_module("torch")
        line = sys.stdin.readline().strip()
        if not line:
            return 0
        arguments = [line]
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m explorer.engine.worker FOLDER\n")
        return 2
    return run_job(JobFolder(Path(arguments[0])))


def run_job(job: JobFolder) -> int:
    """Run the job of a folder to its last state, holding its lock; or one rank of it, for the process that does."""
    if reports_elsewhere():
        _send_output_to(job.log_path)
        return run_rank(job, _call, describe)
    try:
        with job.locked():
            _send_output_to(job.log_path)
            signal.signal(signal.SIGTERM, _cancelled if own_rank() is None else _ended_by_launcher)
            writer = EventWriter(job.events_path)
            return _run(job, writer)
    except LockHeldError:
        return EXIT_LOCK_HELD


def _run(job: JobFolder, writer: EventWriter) -> int:
    writer.write(State(state="running", pid=os.getpid()))
    reporter = JobReporter(job, writer)
    try:
        record = job.record()
        sys.path.insert(0, record.cwd)
        result = _answer(job, record.spec, reporter, writer)
    except Cancelled:
        reporter.flush()
        writer.write(State(state="cancelled", reason="cancelled"))
        return 1
    except BaseException as error:
        if not isinstance(error, ranks.RankFailedError):
            traceback.print_exc()
        reporter.flush()
        if isinstance(error, ExplorerError) and isinstance(error.result, Record):
            writer.write(Result(result=error.result.model_dump(mode="json")))
        failure = describe(error, job)
        writer.write(failure)
        writer.write(State(state="failed", reason=failure.message))
        return 1
    reporter.flush()
    if result is None:
        writer.write(State(state="done", reason="took part; the result is with rank 0, on another machine"))
        return 0
    writer.write(Result(result=result.model_dump(mode="json")))
    writer.write(State(state="done", reason=headline(result)))
    return 0


def _answer(job: JobFolder, spec: Spec, reporter: JobReporter, writer: EventWriter) -> JobResult | None:
    """The result, from this process or from the ranks that it starts; None when another machine has it."""
    if ranks.wanted(spec):
        return ranks.run_ranks(job, spec, writer)
    if own_rank() is not None:
        forget_outcomes(job)
    return _call(spec, reporter)


def _call(spec: Spec, reporter: Reporter) -> JobResult:
    spec = own_spec(spec)
    # Changes nothing in a worker of the engine's; a rank, or one run by hand, has not imported torch yet.
    os.environ.update(training_environment(spec))
    module, _, function = CAPABILITIES[spec.kind].partition(":")
    result: Any = getattr(importlib.import_module(module), function)(spec, reporter)
    return result  # type: ignore[no-any-return]


def describe(error: BaseException, job: JobFolder) -> Failure:
    """An exception as people should read it; one that nobody expected brings the end of the log along."""
    if isinstance(error, ranks.RankFailedError):
        return error.failure
    if isinstance(error, PeerGoneError):
        gone = Failure(message=error.message, remedy=error.remedy, cause="peer gone", log_tail=job.log_tail_lines())
        return first_cause(read_outcomes(job)) or gone
    if isinstance(error, ExplorerError):
        return Failure(message=error.message, remedy=error.remedy, cause="refused", details=error.details)
    cause = type(error).__name__
    if isinstance(error, MemoryError):
        return Failure(message="this machine has not enough memory for the job", remedy="make the batch smaller", cause=cause)
    first_line = (str(error).strip().splitlines() or [""])[0]
    return Failure(
        message=f"{cause}: {first_line}" if first_line else cause,
        remedy="the log has the whole story",
        cause=cause,
        log_tail=job.log_tail_lines(),
    )


def _send_output_to(path: Path) -> None:
    """Point standard output and error, also those of C++ libraries, at the job's log."""
    sys.stdout.flush()
    sys.stderr.flush()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)
    faulthandler.enable()


def _cancelled(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Cancelled


def _ended_by_launcher(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Rank 0 under a launcher of somebody's own, who cancels through the job's folder."""
    raise PeerGoneError("the launcher ended this training", "a rank is gone, or somebody ended the launcher: see what it printed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
