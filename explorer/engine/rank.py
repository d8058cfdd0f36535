"""One process of a data parallel training: it runs the same capability as every other, and only rank 0 reports."""

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from explorer.engine.events_file import EventWriter
from explorer.engine.jobs import JobFolder
from explorer.engine.rank_outcome import Outcome, write_outcome
from explorer.engine.reporting import JobReporter
from explorer.errors import Cancelled
from explorer.reporter import NO_ORDERS, Orders, Reporter
from explorer.schemas.events import Failure, Severity
from explorer.schemas.results import JobResult
from explorer.schemas.specs import Spec, TrainSpec
from explorer.training.rank_life import PeerGoneError, end_with_parent, shared_device

# The worker that started the ranks says its process ID here; without it, somebody ran torchrun by hand.
PARENT = "EXPLORER_RANKS_PARENT"

Call = Callable[[Spec, Reporter], JobResult]
Describe = Callable[[BaseException, JobFolder], Failure]


def own_rank() -> int | None:
    """This process's number among all of its training; None when no launcher started it."""
    return int(os.environ["RANK"]) if "TORCHELASTIC_RUN_ID" in os.environ else None


def reports_elsewhere() -> bool:
    """Whether another process holds this job's lock and says how it ended."""
    return own_rank() is not None and (own_rank() != 0 or PARENT in os.environ)


def run_rank(job: JobFolder, call: Call, describe: Describe) -> int:
    """Run the job as one rank and leave its outcome in the folder; exit 0 unless it failed.

    A cancelled rank leaves with 0 too, so that the launcher lets the others end by themselves.
    """
    # The launcher ends what is left of a broken group with it, which is nobody's wish to cancel.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if PARENT in os.environ:
        end_with_parent(int(os.environ[PARENT]))
    rank, size = own_rank() or 0, int(os.environ["WORLD_SIZE"])
    reporter = _reporter(job, rank)
    try:
        record = job.record()
        sys.path.insert(0, record.cwd)
        result = call(record.spec, reporter)
        outcome = Outcome(rank=rank, size=size, state="done", result=result.model_dump(mode="json") if rank == 0 else None)
    except Cancelled:
        outcome = Outcome(rank=rank, size=size, state="cancelled")
    except BaseException as error:
        echo = isinstance(error, PeerGoneError)
        if echo:
            sys.stderr.write(f"rank {rank}: {error}\n")
        else:
            traceback.print_exc()
        outcome = Outcome(rank=rank, size=size, state="failed", failure=describe(error, job), echo=echo)
    if isinstance(reporter, JobReporter):
        reporter.flush()
    write_outcome(job, outcome)
    return 1 if outcome.state == "failed" else 0


def own_spec(spec: Spec) -> Spec:
    """The spec as a rank runs it; any other process runs it as it is."""
    return shared_device(spec) if isinstance(spec, TrainSpec) and own_rank() is not None else spec


def _reporter(job: JobFolder, rank: int) -> Reporter:
    if rank == 0:
        return JobReporter(job, EventWriter(job.events_path))
    return SilentReporter(job.artifacts_path, rank)


class SilentReporter:
    """The reporter of the ranks that do not report: words go to the log, files nowhere."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder = folder
        self._rank = rank

    @property
    def folder(self) -> Path:
        return self._folder

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        """Rank 0 says it."""

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        """Rank 0 says it."""

    def log(self, text: str, level: Severity = "info") -> None:
        sys.stderr.write(f"rank {self._rank}: {text}\n")

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self.log(". ".join(part for part in (f"{severity}: {title}", evidence, remedy) if part))

    @contextmanager
    def artifact(self, name: str, step: int | None = None) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="explorer-rank-") as folder:
            yield Path(folder) / Path(name).name

    def control(self) -> Orders:
        return NO_ORDERS
