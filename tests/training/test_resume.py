"""A training that is cut anywhere and started again ends as if it had never been cut, to the last bit."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from explorer.errors import Cancelled
from explorer.reporter import QuietReporter
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec
from explorer.training.train import run
from tests.training.reporters import Doomed, KilledError, repeatable

NET = """
import torch
from torch import nn
def digits():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 10))
def values():
    return nn.Sequential(nn.Linear(10, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 1))
def step(module, batch):
    inputs, targets = batch
    noise = 0.1 * torch.randn_like(inputs)
    loss = nn.functional.mse_loss(module(inputs + noise), targets)
    return {"loss": loss, "doubled": 2 * loss}
"""
CUTS = 3


@pytest.fixture(autouse=True)
def control_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.steering.CONTROL_INTERVAL_S", 0.0)
    monkeypatch.setattr("explorer.training.timing.SAY_INTERVAL_S", 0.0)


def random_spec(folder: Path, seed: int) -> TrainSpec:
    """Every optimizer, schedule and kind of data with every other option, over the seeds."""
    source = folder / "net.py"
    source.write_text(NET)
    chance = random.Random(seed)
    classes = chance.random() < 0.5
    own_step = not classes and chance.random() < 0.5
    values: dict[str, Any] = {
        "source": f"{source}:{'digits' if classes else 'values'}",
        "data": "digits" if classes else "linear",
        "step": f"{source}:step" if own_step else None,
        "optimizer": ("adamw", "adam", "sgd", "rmsprop")[seed % 4],
        "schedule": ("cosine", "linear", "step", "plateau", "constant")[seed % 5],
        "learning_rate": 0.003,
        "accumulate_batches": chance.choice([1, 1, 3, 4]),
        "clip_grad_norm": chance.choice([None, 1.0]),
        "early_stopping_epochs": chance.choice([None, 1, 2]),
        "keep_best": chance.random() < 0.5,
        "label_smoothing": chance.choice([0.0, 0.1]) if classes else 0.0,
        "max_steps": chance.choice([None, None, 40]),
        "checkpoint_every_steps": chance.choice([0, 3, 7, 10]),
        "keep_checkpoints": chance.choice([1, 3]),
        "log_every_steps": chance.choice([1, 4, 20]),
        "time_every_steps": 5,
        "batch_size": 64,
        "epochs": 4,
        "threads": 1,
        "seed": seed,
    }
    return TrainSpec.model_validate(values)


def run_with_cuts(spec: TrainSpec, folder: Path, chance: random.Random, calls: int) -> tuple[TrainResult, list[QuietReporter]]:
    """Start the training again after each cut, a cancel or a kill at a random call; gives the last result and what was said."""
    reports: list[QuietReporter] = []
    for _ in range(CUTS):
        at = chance.randrange(1, calls)
        cut = {"cancel_at": at} if chance.random() < 0.4 else {"die_at": at}
        reports.append(Doomed(folder, **cut))
        try:
            return run(spec, reports[-1]), reports
        except (Cancelled, KilledError):
            continue
    reports.append(QuietReporter(folder))
    return run(spec, reports[-1]), reports


@pytest.mark.parametrize("seed", range(24))
def test_a_cut_run_is_the_whole_run(tmp_path: Path, seed: int) -> None:
    spec = random_spec(tmp_path, seed)
    whole = Doomed(tmp_path / "whole")
    expected = run(spec, whole)
    result, reports = run_with_cuts(spec, tmp_path / "cut", random.Random(seed), -whole.left)
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("cut", "whole"))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    assert repeatable(*reports) == repeatable(whole)
    assert result.metrics == expected.metrics
    assert (result.steps, result.stopped, result.best_step) == (expected.steps, expected.stopped, expected.best_step)
    names = [kept.step for kept in result.checkpoints]
    assert len(names) == len(set(names)) <= spec.keep_checkpoints


def test_the_random_specs_cover_the_options(tmp_path: Path) -> None:
    specs = [random_spec(tmp_path, seed) for seed in range(24)]
    assert len({(spec.optimizer, spec.schedule) for spec in specs}) == 20
    for name in ("step", "early_stopping_epochs", "clip_grad_norm", "max_steps"):
        assert {getattr(spec, name) is None for spec in specs} == {True, False}
    assert {spec.keep_best for spec in specs} == {True, False}
    assert len({spec.accumulate_batches for spec in specs}) == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(3))
def test_sigkill_at_a_random_time(tmp_path: Path, seed: int) -> None:
    spec = random_spec(tmp_path, seed).model_copy(
        update={"checkpoint_every_steps": 5, "epochs": 30, "early_stopping_epochs": None}
    )
    expected = run(spec, QuietReporter(tmp_path / "whole"))
    chance = random.Random(seed)
    for _ in range(CUTS):
        child = os.fork()
        if child == 0:
            run(spec, QuietReporter(tmp_path / "cut"))
            os._exit(0)
        time.sleep(chance.uniform(0.2, 1.5))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    result = run(spec, QuietReporter(tmp_path / "cut"))
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("cut", "whole"))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    assert result.metrics == expected.metrics
