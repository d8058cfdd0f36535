"""A training that is interrupted by force and resumed ends as if nothing had happened: the same weights, the same history."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from explorer import home
from explorer.engine.client import EngineLostError, connect
from explorer.engine.jobs import JobFolder
from explorer.runs.history import read_history
from explorer.schemas.events import FINAL_STATES
from explorer.schemas.jobs import JobSummary
from explorer.schemas.specs import TrainSpec
from tests.terminal import terminal

SEEDS = 20
STEPS = 900
FIRST_CHECKPOINT = 7
LIMIT_S = 120
# What a clock or the system says differs from run to run.
MEASURED = ("samples_per_s", "_ms", "_bytes")
NET = """
from torch import nn

def make():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.BatchNorm1d(96), nn.Linear(96, 10))
"""
VICTIMS = ("worker", "engine", "terminal", "worker and engine", "pause", "cancel")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def spec(folder: Path) -> TrainSpec:
    (folder / "net.py").write_text(NET)
    return TrainSpec(
        source=f"{folder}/net.py:make",
        epochs=20,
        threads=1,
        checkpoint_every_steps=FIRST_CHECKPOINT,
        clip_grad_norm=1.0,
        log_every_steps=3,
    )


async def test_twenty_interrupted_runs_end_like_the_uninterrupted_one(real_engines: None, tmp_path: Path) -> None:
    asked = spec(tmp_path)
    whole = await finished(await submitted(asked))
    chance = random.Random(0)
    steps = []
    for seed in range(SEEDS):
        victim = VICTIMS[seed % len(VICTIMS)]
        at = chance.randrange(FIRST_CHECKPOINT + 3, STEPS // 2)
        steps.append((victim, at, await interrupted(asked, victim, at, whole)))
    assert len(steps) == SEEDS
    assert sum(resumed for _, _, resumed in steps) >= SEEDS // 3, steps


async def interrupted(asked: TrainSpec, victim: str, at: int, whole: JobFolder) -> bool:
    """Interrupt a new run at a step and let it end; says whether it had to be resumed. Raises unless it ends like `whole`."""
    job = await submitted(asked)
    await reached(job, at)
    await strike(job, victim)
    summary = await settled(job)
    if resumed := summary.state != "done":
        assert summary.resumable, (victim, at, summary)
        client = await connect()
        await client.control(job.id, "resume")
        await client.aclose()
    assert_same(await finished(job), whole, f"{victim} at step {at}")
    return resumed


async def strike(job: JobFolder, victim: str) -> None:
    client = await connect()
    if victim == "terminal":
        with terminal("-m", "explorer") as child:
            child.read_until(b"explorer")
            os.kill(child.pid, signal.SIGKILL)
    elif victim == "pause":
        if (await client.job(job.id)).active:
            await client.control(job.id, "pause")
            await asyncio.sleep(0.3)
            await client.control(job.id, "resume")
    elif victim == "cancel" and (await client.job(job.id)).active:
        await client.control(job.id, "cancel")
    if "engine" in victim:
        os.kill((await client.status()).pid, signal.SIGKILL)
    if "worker" in victim and (pid := job.holder_pid()) is not None and job.is_locked():
        os.killpg(pid, signal.SIGKILL)
    await client.aclose()


async def submitted(asked: TrainSpec) -> JobFolder:
    client = await connect()
    job = await client.submit(asked)
    await client.aclose()
    return JobFolder(home.jobs_folder() / job.id)


async def reached(job: JobFolder, step: int) -> None:
    """Wait until the job has said `step`, or is over."""
    client = await connect()
    async for event in client.follow(job.id):
        if event.kind == "metric" and event.steps[-1] >= step:
            break
    await client.aclose()


async def settled(job: JobFolder) -> JobSummary:
    """The last state of a run that was struck; a dead engine is replaced by connecting."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            client = await connect()
            try:
                summary = await client.job(job.id)
                if summary.state in FINAL_STATES:
                    return summary
            except EngineLostError:
                pass
            finally:
                await client.aclose()
            await asyncio.sleep(0.2)


async def finished(job: JobFolder) -> JobFolder:
    """Wait for the good end; a resumed job is what it was until its old worker has left."""
    end_s = time.monotonic() + LIMIT_S
    while (await settled(job)).state != "done":
        assert time.monotonic() < end_s
        await asyncio.sleep(0.2)
    return job


def assert_same(ended: JobFolder, whole: JobFolder, what: str) -> None:
    first, second = (load_file(job.artifacts_path / "model.safetensors") for job in (ended, whole))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first), f"{what}: other weights"
    mine, theirs = (read_history(f"job:{job.id}").series for job in (ended, whole))
    names = {name for name in theirs if not name.endswith(MEASURED)}
    assert {"loss", "lr", "val_loss", "val_accuracy"} <= names <= mine.keys()
    for name in names:
        assert np.array_equal(mine[name].steps, theirs[name].steps), f"{what}: other steps of {name}"
        assert np.array_equal(mine[name].values, theirs[name].values), f"{what}: another {name}"
