"""The whole training in two processes: the same weights as in one, and what becomes of failures and hang-ups."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.schemas.events import Result
from explorer.schemas.specs import TrainSpec
from tests.training.ranks import RankedJob, all_gone, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Train = Callable[..., RankedJob]

NET = """
from torch import nn

def net():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
"""
STEP = """
import os, time
from torch.nn.functional import cross_entropy

taken = 0

def step(module, batch):
    global taken
    taken += 1
    inputs, targets = batch
    loss = cross_entropy(module(inputs), targets)
    time.sleep(SLEEP)
    if os.environ.get("RANK") == "1" and taken == 7:
        FAULT
    return loss
"""


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Train]:
    """Starts a training of a small net of linear layers on the digits."""
    jobs: list[RankedJob] = []
    (tmp_path / "net.py").write_text(NET)

    def starter(fault: str = "", sleep_s: float = 0.0, **values: object) -> RankedJob:
        step = None
        if fault or sleep_s:
            step = f"{tmp_path / 'step.py'}:step"
            (tmp_path / "step.py").write_text(STEP.replace("FAULT", fault or "pass").replace("SLEEP", str(sleep_s)))
        fields = {"device": "cpu", "epochs": 1, "batch_size": 16, "step": step, "log_every_steps": 1, **values}
        spec = TrainSpec.model_validate({"source": f"{tmp_path / 'net.py'}:net", **fields})
        jobs.append(RankedJob(tmp_path, spec, "explorer.engine.worker"))
        return jobs[-1]

    yield starter
    for job in jobs:
        if job.worker.poll() is None:
            os.killpg(job.worker.pid, signal.SIGKILL)
            job.worker.wait()


def weights(job: RankedJob) -> dict[str, torch.Tensor]:
    assert job.states()[-1] == "done", job.folder.log_tail()
    return load_file(job.folder.artifacts_path / "model.safetensors")


def difference(one: RankedJob, other: RankedJob) -> float:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)


def metrics(job: RankedJob) -> dict[str, float]:
    return dict(next(event for event in job.events() if isinstance(event, Result)).result["metrics"])


@pytest.mark.parametrize(
    "options", [{}, {"optimizer": "sgd", "learning_rate": 0.1, "accumulate_batches": 3, "clip_grad_norm": 1.0}]
)
def test_two_processes_train_as_one_with_the_doubled_batch(train: Train, options: dict[str, object]) -> None:
    two = train(processes=2, **options)
    assert two.worker.wait(200) == 0, two.folder.log_tail()
    one = train(batch_size=32, **options)
    assert one.worker.wait(100) == 0
    assert one.steps() == two.steps()
    assert difference(one, two) <= 1e-5
    assert metrics(two)["val_loss"] == pytest.approx(metrics(one)["val_loss"], abs=1e-5)
    assert metrics(two)["val_accuracy"] == pytest.approx(metrics(one)["val_accuracy"], abs=0.01)


def test_a_killed_rank_and_a_resume_end_as_if_nothing_had_been(train: Train) -> None:
    undisturbed = train(processes=2, label_smoothing=0.0)  # as the step below
    assert undisturbed.worker.wait(200) == 0
    job = train(sleep_s=0.05, processes=2, checkpoint_every_steps=5)
    ranks = job.until_it_trains()
    until(lambda: (job.folder.artifacts_path / "checkpoint.pt").exists())
    ranks[1].kill()
    assert job.worker.wait(40) == 1
    assert job.failure().message == "rank 1 of 2 was killed by SIGKILL"
    assert all_gone(ranks)
    job.start()
    assert job.worker.wait(200) == 0
    assert job.logged("resumed from the checkpoint at step")
    assert difference(undisturbed, job) == 0


@pytest.mark.parametrize(
    ("fault", "words"),
    [("return missing", ["rank 1 of 2", "step.py", "missing"]), ("loss = loss * float('nan')", ["rank 1 of 2", "NaN", "step 7"])],
)
def test_a_fault_in_the_step_of_one_rank_is_told_with_its_rank(train: Train, fault: str, words: list[str]) -> None:
    job = train(fault, processes=2, checkpoint_every_steps=3)
    assert job.worker.wait(100) == 1
    assert all(word in job.failure().message for word in words), job.failure()
    state = torch.load(job.folder.artifacts_path / "checkpoint.pt", weights_only=True)
    assert state["position"][0] == 6
    assert all(bool(values.isfinite().all()) for values in state["model"].values())


def test_cancel_leaves_a_checkpoint_of_the_last_step(train: Train) -> None:
    job = train(sleep_s=0.05, processes=2, epochs=100)
    ranks = job.until_it_trains()
    job.say("cancel")
    assert job.worker.wait(30) == 1
    assert job.states()[-1] == "cancelled"
    assert all_gone(ranks)
    state = torch.load(job.folder.artifacts_path / "checkpoint.pt", weights_only=True)
    assert state["position"][0] == job.steps()[-1]
    assert len(state["random"]) == 2
