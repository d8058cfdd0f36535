"""The real program on a terminal, with a real engine: a job outlives whatever shows it."""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from contextlib import AbstractContextManager

from explorer import home
from explorer.engine.client import EngineClient
from explorer.engine.jobs import JobFolder
from explorer.schemas.specs import TrainSpec
from tests.terminal import Terminal, terminal

RUNS = 7


async def running_job(engine: EngineClient) -> JobFolder:
    job = await engine.submit(TrainSpec(source="steps:1500"))
    folder = JobFolder(home.jobs_folder() / job.id)
    async for event in engine.follow(job.id):
        if event.kind == "metric":
            break
    return folder


def explorer() -> AbstractContextManager[Terminal]:
    return terminal("-m", "explorer")


async def test_a_screen_that_leaves_says_that_the_job_goes_on_and_the_next_one_shows_it(engine: EngineClient) -> None:
    job = await running_job(engine)
    with explorer() as child:
        child.read_until(b"1 job")
        child.press(b"3")
        child.read_until(job.id[-4:].encode())
        child.press(b"q")
        assert child.wait() == 0
        assert b"1 job goes on" in child.written
        assert b"\x1b[?1049l" in child.written
    assert job.is_locked()
    with explorer() as child:
        child.press(b"3")
        child.read_until(job.id[-4:].encode())
        seen = job.summary().last_seq
        child.read_for(1.0)
    assert job.summary().last_seq > seen


async def test_a_killed_terminal_takes_no_job_along(engine: EngineClient) -> None:
    job = await running_job(engine)
    with explorer() as child:
        child.read_until(b"1 job")
        os.kill(child.pid, signal.SIGKILL)
    assert job.is_locked()
    seen = job.summary().last_seq
    await asyncio.sleep(0.8)
    assert job.summary().last_seq > seen


async def test_an_engine_killed_under_the_screen_is_replaced(engine: EngineClient) -> None:
    job = await running_job(engine)
    with explorer() as child:
        child.read_until(b"1 job")
        child.press(b"3")
        child.read_until(job.id[-4:].encode())
        first = (await engine.status()).pid
        os.kill(first, signal.SIGKILL)
        child.read_until(b"does not answer")
        deadline_s = time.monotonic() + 20
        while (other := _engine_pid()) in (None, first):
            assert time.monotonic() < deadline_s
            child.read_for(0.1)
        child.press(b"q")
        child.wait()
    assert job.is_locked(), "the training goes on"
    assert other is not None
    os.kill(other, signal.SIGTERM)


def _engine_pid() -> int | None:
    try:
        pid = int((home.engine_folder() / "engine.lock").read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def test_the_version_is_said_at_once() -> None:
    """At most three times a bare interpreter and 150 ms, medians of interleaved runs."""
    bare, ours = [], []
    for _ in range(RUNS):
        bare.append(_seconds("-c", "pass"))
        ours.append(_seconds("-m", "explorer", "--version"))
    assert statistics.median(ours) <= 3 * statistics.median(bare) + 0.15


def _seconds(*arguments: str) -> float:
    began_s = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began_s
