"""What `explorer devices --watch` costs, engine and command line together."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from explorer import home

SETTLED_S, MEASURED_S = 15.0, 20.0
MAX_SHARE = 0.02


@contextmanager
def explorer(output: Path, *words: str) -> Iterator[psutil.Process]:
    """A command of explorer while it runs, printing to a file."""
    command = [sys.executable, "-m", "explorer", *words]
    with output.open("wb") as stream, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time of a process and of the children that it waited for."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_watching_costs_less_than_two_percent_of_a_core(explorer_home: Path, tmp_path: Path) -> None:
    with ExitStack() as running:
        engine = running.enter_context(explorer(tmp_path / "engine", "engine", "run"))
        while not home.socket_path().exists():  # else the watcher starts an engine of its own
            time.sleep(0.05)
        watch = running.enter_context(explorer(tmp_path / "watch", "devices", "--watch"))
        time.sleep(SETTLED_S)
        lines = (tmp_path / "watch").read_text().count("cpu.use")
        before = [cpu_seconds(engine), cpu_seconds(watch)]
        start_s = time.monotonic()
        time.sleep(MEASURED_S)
        spent = [after - first for after, first in zip([cpu_seconds(engine), cpu_seconds(watch)], before, strict=True)]
        shares = [seconds / (time.monotonic() - start_s) for seconds in spent]
        assert engine.status() != psutil.STATUS_ZOMBIE
        assert (tmp_path / "watch").read_text().count("cpu.use") - lines >= MEASURED_S - 2
    print(f"engine {shares[0]:.2%}, command line {shares[1]:.2%} of one core, on {os.uname().sysname}")  # noqa: T201
    assert sum(shares) < MAX_SHARE
