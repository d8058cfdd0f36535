"""What ranks leave in a job's folder and what becomes of it, without torch and without a launcher."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from explorer.engine import rank, ranks, worker
from explorer.engine.events_file import EventReader, EventWriter
from explorer.engine.jobs import JobFolder
from explorer.engine.rank_outcome import Outcome, first_cause, forget_outcomes, read_outcomes, write_outcome
from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import NO_ORDERS, Reporter
from explorer.schemas.events import Failure, Log, State
from explorer.schemas.results import JobResult, TrainResult
from explorer.schemas.specs import Spec, TrainSpec
from explorer.training.rank_life import PeerGoneError

TAIL = ["the end of the log"]
RESULT = TrainResult(
    device="cpu", device_reason="", steps=3, seconds=1.0, parameters=1, metrics={"loss": 0.5}, model="model.json"
)


@pytest.fixture
def job(tmp_path: Path) -> JobFolder:
    return JobFolder.create(tmp_path, TrainSpec(processes=2), model="net", cwd=str(tmp_path))


@pytest.fixture
def second_rank(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of rank 1 of 2."""
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    before = signal.getsignal(signal.SIGTERM)
    path = list(sys.path)
    yield
    signal.signal(signal.SIGTERM, before)
    sys.path[:] = path


def failed(number: int, message: str, *, echo: bool = False, time: float = 0.0) -> Outcome:
    return Outcome(rank=number, size=2, state="failed", failure=Failure(message=message), echo=echo, time=time)


def test_a_spec_of_several_processes_wants_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    specs = TrainSpec(), TrainSpec(processes=2), TrainSpec(nodes=2, rendezvous="a:1")
    assert [ranks.wanted(spec) for spec in specs] == [False, True, True]
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    monkeypatch.setenv("RANK", "0")
    assert not ranks.wanted(TrainSpec(processes=2)), "a rank starts no ranks"


def test_outcomes_come_back_in_the_order_of_their_time(job: JobFolder) -> None:
    outcomes = [failed(0, "later", time=2.0), failed(1, "first", time=1.0)]
    for outcome in outcomes:
        write_outcome(job, outcome)
    (job.path / "ranks" / "2.json").write_text('{"rank"')
    assert read_outcomes(job) == outcomes[::-1]
    forget_outcomes(job)
    assert read_outcomes(job) == []


def test_the_cause_is_the_first_failure_that_is_no_echo() -> None:
    echo = failed(0, "a peer is gone", echo=True)
    assert first_cause([echo]) is None
    cause = first_cause([echo, failed(1, "the step failed"), failed(0, "too")])
    assert cause is not None
    assert cause.message == "rank 1 of 2: the step failed"
    plain = first_cause([failed(0, "no such file")])
    assert plain is not None
    assert plain.message == "no such file"


@pytest.mark.parametrize(
    ("outcomes", "exit_codes", "message", "cause"),
    [
        ([failed(0, "gone", echo=True)], {0: 1, 1: -9}, "rank 1 of 2 was killed by SIGKILL", "SIGKILL"),
        ([], {0: -15, 1: -11}, "rank 1 of 2 was killed by SIGSEGV", "SIGSEGV"),
        ([failed(1, "why")], {0: -15, 1: 1}, "rank 1 of 2: why", ""),
        ([failed(0, "gone", echo=True)], {0: 1}, "a process of this training on another machine is gone", "peer gone"),
        ([], {1: 3}, "rank 1 of 2 left with exit code 3", "exit 3"),
        ([], {0: -15}, "rank 0 of 2 was ended by SIGTERM", "exit -15"),
    ],
)
def test_why_a_group_ended(outcomes: list[Outcome], exit_codes: dict[int, int], message: str, cause: str) -> None:
    failure = ranks.failure_of(outcomes, exit_codes, 2, TAIL)
    assert (failure.message, failure.cause) == (message, cause)
    assert failure.log_tail == ([] if outcomes and not outcomes[0].echo else TAIL)


@pytest.mark.usefixtures("second_rank")
def test_a_rank_leaves_how_it_ended_and_writes_no_event(job: JobFolder) -> None:
    def done(_spec: Spec, report: Reporter) -> JobResult:
        report.progress(1, 2)
        report.metric([1], {"loss": [0.5]})
        report.log("a word")
        report.finding("info", "a statement")
        with report.artifact("checkpoint.pt") as path:
            path.write_text("of rank 1")
        assert report.control() is NO_ORDERS
        assert report.folder == job.artifacts_path
        return RESULT

    def cancelled(_spec: Spec, _report: Reporter) -> JobResult:
        raise Cancelled

    def refused(_spec: Spec, _report: Reporter) -> JobResult:
        raise ExplorerError("no such file", "give another")

    def alone(_spec: Spec, _report: Reporter) -> JobResult:
        raise PeerGoneError("a peer is gone")

    found = []
    for call in (done, cancelled, refused, alone):
        code = rank.run_rank(job, call, worker.describe)
        (outcome,) = read_outcomes(job)
        forget_outcomes(job)
        found.append((code, outcome.state, outcome.failure and outcome.failure.message, outcome.echo))
    assert found == [
        (0, "done", None, False),
        (0, "cancelled", None, False),
        (1, "failed", "no such file", False),
        (1, "failed", "a peer is gone", True),
    ]
    assert not job.events_path.exists()
    assert list(job.artifacts_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "the launcher's signal is no wish to cancel"


def test_a_writer_goes_on_behind_what_a_rank_wrote(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    parent = EventWriter(path)
    parent.write(State(state="running"))
    child = EventWriter(path)
    child.write(Log(text="of the rank"))
    with path.open("ab") as stream:
        stream.write(b'{"seq":3,"kind":"log","te')
    parent.catch_up()
    parent.write(State(state="done"))
    assert [(event.seq, event.kind) for event in EventReader(path).read_events()] == [(1, "state"), (2, "log"), (3, "state")]


def test_the_worker_judges_what_its_ranks_left(job: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [Outcome(rank=0, size=2, state="done", result=RESULT.model_dump(mode="json")), failed(1, "why")]
    assert judged(job, monkeypatch, [outcomes[0]]) == RESULT
    assert judged(job, monkeypatch, []) is None, "rank 0 is on another machine"
    with pytest.raises(Cancelled):
        judged(job, monkeypatch, [Outcome(rank=0, size=2, state="cancelled")])
    with pytest.raises(ranks.RankFailedError, match="rank 1 of 2: why"):
        judged(job, monkeypatch, outcomes, exit_code=1)


def judged(job: JobFolder, monkeypatch: pytest.MonkeyPatch, outcomes: list[Outcome], exit_code: int = 0) -> JobResult | None:
    """What `run_ranks` gives when the ranks leave `outcomes`."""

    class Launcher:
        @staticmethod
        def launch(_spec: TrainSpec, _module: str, _folder: str) -> list[object]:
            for outcome in outcomes:
                write_outcome(job, outcome)
            death = type("Death", (), {"rank": 1, "exit_code": exit_code})
            return [death] if exit_code else []

    monkeypatch.setitem(sys.modules, "explorer.training.rank_launcher", Launcher)
    monkeypatch.setenv(rank.PARENT, "")
    return ranks.run_ranks(job, TrainSpec(processes=2), EventWriter(job.events_path))


def test_a_process_ends_with_the_one_that_started_it() -> None:
    child = (
        "import os, time; from explorer.training.rank_life import end_with_parent;"
        "end_with_parent(os.getppid()); print(flush=True); time.sleep(60)"
    )
    middle = (
        f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True);"
        "print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", middle], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        orphan = psutil.Process(int(parent.stdout.readline()))
        parent.stdout.readline()
        os.kill(parent.pid, signal.SIGKILL)
        assert psutil.wait_procs([orphan], timeout=5)[0] == [orphan]
