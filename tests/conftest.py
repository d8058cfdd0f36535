"""What tests share: an environment that changes no snapshot, and an engine process with scripted workers."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from explorer import home
from explorer.engine import start
from explorer.engine.client import EngineClient, connect
from explorer.engine.jobs import list_jobs

for name in ("NO_COLOR", "TEXTUAL_THEME", "FORCE_COLOR"):
    os.environ.pop(name, None)

ROOT = Path(__file__).resolve().parents[1]
StartEngine = Callable[..., "subprocess.Popen[bytes]"]


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Slow tests measure time: they run one by one, without another test beside them."""
    if config.option.markexpr.strip() == "slow":
        config.option.numprocesses = 0
        config.option.dist = "no"


@pytest.fixture
def explorer_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home that dies with the test, and no worker outlives it."""
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield tmp_path / "home"
    for job in list_jobs(home.jobs_folder()):
        pid = job.holder_pid()
        if pid is not None and job.is_locked():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


@pytest.fixture
def start_engine(explorer_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartEngine]:
    """Starts engines with scripted workers; `connect()` uses it too."""
    started: list[subprocess.Popen[bytes]] = []

    def starter(*arguments: str) -> "subprocess.Popen[bytes]":
        with start.log_path().open("ab") as log:
            engine = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.scripted_engine", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(engine)
        return engine

    monkeypatch.setattr(start, "start_engine", starter)
    yield starter
    for engine in started:
        engine.terminate()
        try:
            engine.wait(10)
        except subprocess.TimeoutExpired:
            engine.kill()
            engine.wait()


@pytest.fixture
def real_engines(explorer_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines as `connect()` starts them for a user, ended with the test."""
    started: list[subprocess.Popen[bytes]] = []
    original = start.start_engine

    def starter() -> "subprocess.Popen[bytes]":
        started.append(original())
        return started[-1]

    monkeypatch.setattr(start, "start_engine", starter)
    yield
    for engine in started:
        engine.terminate()
        engine.wait(20)


@pytest.fixture
async def engine(start_engine: StartEngine) -> AsyncIterator[EngineClient]:
    client = await connect()
    yield client
    await client.aclose()
