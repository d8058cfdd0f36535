"""Jobs of several processes, with a loop of a few lines in the place of the training: each start takes many seconds."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from explorer.schemas.events import Result
from explorer.schemas.specs import TrainSpec
from tests.training.ranks import ROOT, RankedJob, all_gone, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

Start = Callable[..., RankedJob]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    jobs: list[RankedJob] = []

    def starter(source: str = "slow", **values: object) -> RankedJob:
        fields = {"max_steps": 100_000, "processes": 2, **values}
        jobs.append(RankedJob(tmp_path, TrainSpec.model_validate({"source": source, **fields})))
        return jobs[-1]

    yield starter
    for job in jobs:
        if job.worker.poll() is None:
            os.killpg(job.worker.pid, signal.SIGKILL)
            job.worker.wait()


def result_of(job: RankedJob) -> dict[str, float]:
    metrics = next(event for event in job.events() if isinstance(event, Result)).result["metrics"]
    return {name: float(value) for name, value in metrics.items()}


def test_ranks_train_one_model_and_one_of_them_reports(start: Start) -> None:
    job = start("steps", max_steps=50)
    assert job.worker.wait(120) == 0
    assert job.states() == ["running", "done"]
    assert job.steps() == list(range(1, 51))
    assert [event.seq for event in job.events()] == list(range(1, len(job.events()) + 1))
    assert result_of(job)["size"] == 2
    assert result_of(job)["difference"] == 0
    titles = [event.title for event in job.events() if event.kind == "finding"]
    assert titles == ["batch norm sees the samples of one process"]


def test_orders_reach_every_rank_and_a_cancel_ends_all(start: Start) -> None:
    job = start()
    ranks = job.until_it_trains()
    job.say("set", learning_rate=0.5, learning_rate_factor=2.0)
    until(lambda: job.logged("[[0, False, 0.5, 2.0], [1, False, 0.5, 2.0]]"))
    job.say("checkpoint")
    until(lambda: job.logged("[[0, True, None, 1.0], [1, True, None, 1.0]]"))
    job.say("pause")
    until(lambda: job.states()[-1] == "paused")
    steps, before = len(job.steps()), [sum(rank.cpu_times()[:2]) for rank in ranks]
    time.sleep(3)
    busy_s = [sum(rank.cpu_times()[:2]) - begun for rank, begun in zip(ranks, before, strict=True)]
    assert len(job.steps()) == steps
    assert max(busy_s) < 0.6, "a paused rank does not spin"
    job.say("resume")
    until(lambda: len(job.steps()) > steps)
    job.say("cancel")
    assert job.worker.wait(20) == 1
    assert job.states() == ["running", "paused", "running", "cancelled"]
    assert job.logged("cancelled at")
    assert all_gone(ranks)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_fails_the_job_which_goes_on_from_its_checkpoint(start: Start, victim: int) -> None:
    job = start()
    ranks = job.until_it_trains()
    job.say("checkpoint")
    until(lambda: (job.folder.artifacts_path / "checkpoint.pt").exists())
    ranks[victim].kill()
    assert job.worker.wait(30) == 1
    failure = job.failure()
    assert failure.message == f"rank {victim} of 2 was killed by SIGKILL"
    assert failure.cause == "SIGKILL"
    assert all_gone(ranks)
    assert job.folder.summary().resumable
    saved = int((job.folder.artifacts_path / "checkpoint.pt").read_text())
    said = len(job.steps())
    job.start()
    ranks = job.until_it_trains()
    assert job.steps()[said] == saved + 1, "it goes on behind the checkpoint"
    assert [event.seq for event in job.events()] == list(range(1, len(job.events()) + 1))
    os.killpg(job.worker.pid, signal.SIGTERM)
    assert job.worker.wait(20) == 1
    assert job.states()[-1] == "cancelled", "a signal to the worker is a wish to cancel"
    assert all_gone(ranks)


def test_nothing_is_left_of_a_worker_that_is_killed(start: Start) -> None:
    job = start()
    ranks = job.until_it_trains()
    job.worker.kill()
    assert len(ranks) == 2
    assert all_gone(ranks, within_s=3)
    assert not job.folder.is_locked()


def test_a_failing_rank_is_named_with_its_log(start: Start) -> None:
    job = start("raise:1")
    assert job.worker.wait(120) == 1
    failure = job.failure()
    assert failure.message == "rank 1 of 2: ZeroDivisionError: in the step of a rank"
    assert re.search(r'parallel_loop\.py", line \d+, in train', "\n".join(failure.log_tail))
    assert job.states() == ["running", "failed"]


def test_parameters_outside_of_the_loss_are_one_sentence(start: Start) -> None:
    job = start("unused")
    assert job.worker.wait(120) == 1
    assert "took no part in the loss" in job.failure().message
    assert "requires_grad_(False)" in job.failure().remedy


def test_the_launcher_can_be_run_by_hand(start: Start) -> None:
    job = start("steps", processes=1, max_steps=1)
    assert job.worker.wait(60) == 0
    by_hand = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*by_hand, "-m", "tests.training.parallel_loop", str(job.folder.path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120, capture_output=True)
    assert job.states() == ["running", "done", "running", "done"]
    sizes = [event.result["metrics"]["size"] for event in job.events() if isinstance(event, Result)]
    assert sizes == [1, 2]


def test_two_launchers_meet(start: Start) -> None:
    port = free_port()
    jobs = [start("steps", max_steps=20, processes=1, nodes=2, rendezvous=f"127.0.0.1:{port}") for _ in range(2)]
    assert [job.worker.wait(180) for job in jobs] == [0, 0]
    assert all(job.states() == ["running", "done"] for job in jobs)
    results = [[event.result["metrics"] for event in job.events() if isinstance(event, Result)] for job in jobs]
    assert sorted(map(len, results)) == [0, 1], "one of them reports"
    assert max(results)[0]["size"] == 2
    assert "on another machine" in jobs[results.index([])].folder.summary().headline


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_no_process_is_left_after_these_tests() -> None:
    mine = psutil.Process().children(recursive=True)
    assert [child for child in mine if "parallel_loop" in " ".join(child.cmdline())] == []
