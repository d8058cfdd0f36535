"""What torch reads when it starts is in a worker's environment before it does, however the worker came to be."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer import home
from explorer.engine.environment import training_environment
from explorer.engine.jobs import JobFolder
from explorer.engine.spawn import Worker, WorkerPool
from explorer.engine.supervisor import Supervisor
from explorer.schemas.specs import PruneSpec, TrainSpec
from explorer.training.environment import shown_environment
from tests.engine.conftest import ROOT, until
from tests.engine.recording_worker import RECORD

MODULE = "tests.engine.recording_worker"
# Stands in for torch: quick to import, and remembers the environment that it was imported in.
FAKE_TORCH = "import os\nSTARTED_IN = dict(os.environ)\n"
LOW, HIGH = "PYTORCH_MPS_LOW_WATERMARK_RATIO", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
FALLBACK, CUBLAS = "PYTORCH_ENABLE_MPS_FALLBACK", "CUBLAS_WORKSPACE_CONFIG"


@pytest.fixture(autouse=True)
def fake_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: None) -> None:
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/torch.py").write_text(FAKE_TORCH)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'fake'}{os.pathsep}{ROOT}")
    for name in (LOW, HIGH, FALLBACK, CUBLAS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    warm = WorkerPool(module=MODULE)
    warm.warm_up()
    yield warm
    warm.close()


def job(spec: TrainSpec) -> JobFolder:
    return JobFolder.create(home.jobs_folder(), spec, model="net", cwd=str(ROOT))


def recorded(folder: JobFolder) -> Any:
    return json.loads((folder.artifacts_path / RECORD).read_text())


def run_in(pool: WorkerPool, spec: TrainSpec) -> Any:
    """What a worker of the pool recorded for a spec."""
    folder = job(spec)
    worker = pool.start(folder.path, "train", training_environment(spec))
    deadline_s = time.monotonic() + 20
    while worker.exit_code() is None:
        assert time.monotonic() < deadline_s, "the worker does not end"
        time.sleep(0.02)
    assert worker.exit_code() == 0, folder.log_tail_lines()
    return recorded(folder)


@pytest.mark.parametrize(
    ("fields", "variables"),
    [
        ({}, {FALLBACK: "1"}),
        ({"mps_fallback": False}, {FALLBACK: "0"}),
        ({"deterministic": True}, {FALLBACK: "1", CUBLAS: ":4096:8"}),
        ({"mps_high_watermark": 1.0}, {FALLBACK: "1", LOW: "1", HIGH: "1"}),
        ({"mps_high_watermark": 1.5}, {FALLBACK: "1", LOW: "1.4", HIGH: "1.5"}),
        ({"mps_high_watermark": 0.0}, {FALLBACK: "1", LOW: "1.4", HIGH: "0"}),
        ({"mps_low_watermark": 0.9}, {FALLBACK: "1", LOW: "0.9", HIGH: "1.7"}),
        ({"mps_low_watermark": 0.8, "mps_high_watermark": 0.9}, {FALLBACK: "1", LOW: "0.8", HIGH: "0.9"}),
    ],
)
def test_a_training_asks_for_its_variables(fields: dict[str, Any], variables: dict[str, str]) -> None:
    asked = training_environment(TrainSpec(**fields))
    assert asked == variables
    assert list(asked) == list(variables), "the low watermark comes first"


def test_other_jobs_ask_for_none() -> None:
    assert training_environment(PruneSpec(source="net.py:make")) == {}


def test_what_was_set_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = training_environment(TrainSpec(deterministic=True, mps_high_watermark=1.0))
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert asked.items() <= shown_environment().items()
    assert "HOME" not in shown_environment()


def test_a_plain_training_takes_the_warm_spare(pool: WorkerPool) -> None:
    record = run_in(pool, TrainSpec())
    assert record["warm"]
    assert record["environment"][FALLBACK] == "1"
    assert LOW not in record["environment"]


def test_a_training_with_watermarks_gets_a_worker_whose_torch_starts_with_them(pool: WorkerPool) -> None:
    record = run_in(pool, TrainSpec(mps_high_watermark=1.0, mps_fallback=False))
    assert not record["warm"]
    assert (record["environment"][LOW], record["environment"][HIGH]) == ("1", "1")
    assert record["environment"][FALLBACK] == "0"
    assert run_in(pool, TrainSpec())["warm"], "the spare waits for the next plain job"


def test_a_worker_run_by_hand_sets_them_itself() -> None:
    folder = job(TrainSpec(deterministic=True, mps_low_watermark=0.5))
    subprocess.run([sys.executable, "-m", MODULE, str(folder.path)], check=True, cwd=ROOT, timeout=30)
    environment = recorded(folder)["environment"]
    assert (environment[LOW], environment[HIGH], environment[CUBLAS]) == ("0.5", "1.7", ":4096:8")


class RecordingPool(WorkerPool):
    """Starts nothing and notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__(keep_warm=False)
        self.asked: list[dict[str, str]] = []

    def start(self, folder: Path, kind: str, extra: Mapping[str, str] | None = None) -> Worker:
        self.asked.append(dict(extra or {}))
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait(10)
        return Worker(process)


async def test_the_engine_asks_the_pool_for_them() -> None:
    pool = RecordingPool()
    supervisor = Supervisor(home.jobs_folder(), home.scratch_folder(), pool, slots=1)
    supervisor.submit(TrainSpec(mps_high_watermark=0.5), str(ROOT))
    running = asyncio.create_task(supervisor.run())
    await until(lambda: bool(pool.asked))
    running.cancel()
    assert pool.asked == [{FALLBACK: "1", LOW: "0.5", HIGH: "0.5"}]
