"""Reading runs in a child process, from the engine's side and from a client's."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from explorer.engine.client import EngineClient
from explorer.engine.runs import ReaderDiedError, RunReaders
from explorer.errors import ExplorerError
from explorer.schemas.curves import CurvesAnswer, CurvesQuery, RunNews
from tests.engine.conftest import ROOT, until

KERAS = ROOT / "tests" / "fixtures" / "runs" / "keras"


@pytest.fixture
async def readers() -> AsyncIterator[RunReaders]:
    made = RunReaders()
    yield made
    await made.aclose()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "log.jsonl"
    path.parent.mkdir()
    _append(path, range(1, 4))
    return path


def _append(path: Path, steps: range) -> None:
    with path.open("a") as stream:
        stream.write("".join(json.dumps({"step": step, "loss": 1 / step}) + "\n" for step in steps))


def _child(readers: RunReaders) -> Any:
    assert readers._child is not None
    return readers._child


def _parsed(batch: bytes) -> list[RunNews]:
    return [RunNews.model_validate_json(line) for line in batch.split(b"\n")]


def _steps(batch: bytes) -> list[float]:
    return [x for news in _parsed(batch) for curve in news.run.curves for x in curve.xs]


async def test_curves_of_several_runs_come_in_order(readers: RunReaders) -> None:
    sources = [str(KERAS / "training.csv"), "/nowhere", str(KERAS / "train")]
    answer = CurvesAnswer.model_validate(await readers.curves({"sources": sources}))
    assert [run.source for run in answer.runs] == sources
    assert [run.format for run in answer.runs] == ["csv", None, "tfevents"]
    assert answer.runs[1].problem == "/nowhere does not exist: name a log or a folder with logs"


async def test_a_question_that_is_none_is_said_in_a_sentence(readers: RunReaders) -> None:
    with pytest.raises(ExplorerError, match="no question about curves"):
        await readers.curves({"sources": []})
    assert (await readers.curves({"sources": [str(KERAS / "train")]}))["runs"]


async def test_an_answer_of_very_many_curves_still_fits(readers: RunReaders, tmp_path: Path) -> None:
    names = ",".join(f"layer_{number}" for number in range(200))
    rows = "".join(f"{step}" + f",{step / 7}" * 200 + "\n" for step in range(1500))
    for number in range(8):
        (tmp_path / f"{number}.csv").write_text(f"step,{names}\n{rows}")
    answer = await readers.curves({"sources": [str(tmp_path / f"{number}.csv") for number in range(8)]})
    points = [len(curve["xs"]) for run in answer["runs"] for curve in run["curves"]]
    assert len(points) == 1600
    assert sum(points) <= 1_000_000


async def test_growth_is_followed_within_a_second(readers: RunReaders, log: Path) -> None:
    async with aclosing(readers.watch(str(log.parent))) as news:
        assert _steps(await anext(news)) == [1, 2, 3]
        for step in (4, 5):
            _append(log, range(step, step + 1))
            started_s = time.monotonic()
            assert _steps(await asyncio.wait_for(anext(news), 5)) == [step]
            assert time.monotonic() - started_s < 1.0


async def test_a_slow_watcher_gets_all_that_is_new_in_one_batch(readers: RunReaders, log: Path) -> None:
    async with aclosing(readers.watch(str(log.parent))) as news:
        await anext(news)
        for step in range(4, 16):
            _append(log, range(step, step + 1))
            await asyncio.sleep(0.1)
        assert all(queue.qsize() <= 1 for queue in _child(readers).waiting.values())
        first = _steps(await anext(news))
        rest = [] if len(first) == 12 else _steps(await asyncio.wait_for(anext(news), 5))
        assert first + rest == list(range(4, 16))


async def test_a_watcher_that_leaves_leaves_nothing(readers: RunReaders, log: Path) -> None:
    async with aclosing(readers.watch(str(log.parent))) as news:
        await anext(news)
    assert _child(readers).waiting == {}


async def test_nowhere_to_watch_is_said_in_a_sentence(readers: RunReaders, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="does not exist"):
        await anext(readers.watch(str(tmp_path / "nowhere")))


async def test_a_killed_child_is_replaced_and_all_is_said_again(readers: RunReaders, log: Path) -> None:
    async with aclosing(readers.watch(str(log.parent))) as news:
        await anext(news)
        pid = _child(readers).pid
        os.kill(pid, signal.SIGKILL)
        (again,) = _parsed(await asyncio.wait_for(anext(news), 10))
        assert again.restarted
        assert again.run.curves[0].xs == [1, 2, 3]
        assert _child(readers).pid != pid


async def test_a_question_to_a_dying_child_ends_in_a_sentence(readers: RunReaders) -> None:
    await readers.curves({"sources": [str(KERAS / "train")]})
    os.kill(_child(readers).pid, signal.SIGSTOP)
    question = asyncio.create_task(readers.curves({"sources": [str(KERAS / "train")]}))
    await asyncio.sleep(0.1)
    os.kill(_child(readers).pid, signal.SIGKILL)
    with pytest.raises(ReaderDiedError, match="ended unexpectedly"):
        await asyncio.wait_for(question, 5)
    assert (await readers.curves({"sources": [str(KERAS / "train")]}))["runs"]


async def test_a_child_that_keeps_dying_is_given_up(log: Path) -> None:
    readers = RunReaders(module="explorer.errors")  # ends at once
    with pytest.raises(ReaderDiedError):
        await asyncio.wait_for(anext(readers.watch(str(log.parent))), 20)
    with pytest.raises(ReaderDiedError):
        await asyncio.wait_for(readers.curves({"sources": ["x"]}), 20)
    await readers.aclose()


async def test_the_child_leaves_when_nobody_asks_and_comes_back(log: Path) -> None:
    readers = RunReaders(idle_exit_s=0.1)
    await readers.curves({"sources": [str(log)]})
    first = _child(readers)
    await until(lambda: first._process.returncode is not None)
    await readers.curves({"sources": [str(log)]})
    assert _child(readers) is not first
    await readers.aclose()


def test_the_child_ends_with_its_parent() -> None:
    child = subprocess.Popen([sys.executable, "-m", "explorer.runs.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(json.dumps({"id": 1, "method": "watch", "path": str(KERAS)}).encode() + b"\n")
    child.stdin.close()
    assert child.wait(10) == 0
    assert child.stdout is not None
    child.stdout.close()


def test_neither_numpy_nor_torch_enters_the_engine() -> None:
    code = "import sys, explorer.engine.service; print({'numpy', 'torch', 'explorer.runs'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


def test_torch_never_enters_the_child() -> None:
    code = "import sys, explorer.runs.server; print({'torch', 'tensorboard', 'explorer.engine'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


async def test_a_client_asks_the_engine(engine: EngineClient, log: Path) -> None:
    answer = await engine.curves(CurvesQuery(sources=[str(log)]))
    assert answer.runs[0].curves[0].xs == [1.0, 2.0, 3.0]
    async with aclosing(engine.watch_runs(str(log.parent))) as news:  # type: ignore[type-var]
        first = await anext(news)
        assert first.run.curves[0].xs == [1.0, 2.0, 3.0]
        _append(log, range(4, 6))
        assert (await asyncio.wait_for(anext(news), 5)).run.curves[0].xs == [4.0, 5.0]
