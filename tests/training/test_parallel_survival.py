"""A training in two processes under the real engine, with a terminal that hangs up and an engine that is killed."""

import asyncio
import os
import signal
import time

import psutil
import pytest

from explorer import home
from explorer.engine.client import EngineClient, connect
from explorer.engine.jobs import JobFolder, list_jobs
from tests.terminal import terminal
from tests.training.ranks import all_gone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

OPTIONS = ["--processes", "2", "--device", "cpu", "--epochs", "1000", "--json"]


@pytest.mark.usefixtures("real_engines")
async def test_ranks_outlive_the_terminal_and_the_engine_and_end_with_a_cancel() -> None:
    with terminal("-m", "explorer", "train", *OPTIONS) as child:
        job = await until_it_trains()
        os.kill(child.pid, signal.SIGHUP)
        child.wait()
    worker = psutil.Process(job.holder_pid())
    ranks = worker.children()
    assert len(ranks) == 2
    seen = job.summary().last_seq
    engine = await connect()
    os.kill((await engine.status()).pid, signal.SIGKILL)
    await engine.aclose()
    engine = await connect()
    assert (await engine.job(job.id)).state == "running"
    assert all(rank.is_running() for rank in ranks)
    await until_it_says_more(job, seen)
    await engine.control(job.id, "cancel")
    await until_state(engine, job.id, "cancelled")
    assert all_gone([worker, *ranks])
    assert (await engine.job(job.id)).resumable
    await engine.stop()
    await engine.aclose()


async def until_it_trains() -> JobFolder:
    deadline_s = time.monotonic() + 90
    while time.monotonic() < deadline_s:
        for job in list_jobs(home.jobs_folder()):
            if job.summary().progress:
                return job
        await asyncio.sleep(0.2)
    raise AssertionError("no job that trains")


async def until_it_says_more(job: JobFolder, seen: int) -> None:
    deadline_s = time.monotonic() + 20
    while job.summary().last_seq <= seen + 2:
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.1)


async def until_state(engine: EngineClient, job_id: str, state: str) -> None:
    deadline_s = time.monotonic() + 20
    while (await engine.job(job_id)).state != state:
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.1)
