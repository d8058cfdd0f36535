"""A data parallel job without an engine: its folder, its worker and the processes below it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from explorer.engine.events_file import EventReader
from explorer.engine.jobs import JobFolder
from explorer.schemas.events import Event, Failure, State
from explorer.schemas.jobs import Command, ControlLine
from explorer.schemas.specs import TrainSpec

ROOT = Path(__file__).resolve().parents[2]
STARTUP_S = 90.0


class RankedJob:
    """A job run by a worker of its own; `module` is the worker's program."""

    def __init__(self, root: Path, spec: TrainSpec, module: str = "tests.training.parallel_loop") -> None:
        self.folder = JobFolder.create(root, spec, model="net", cwd=str(root))
        self._module = module
        self.worker = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start a worker; a second one goes on with what the first left."""
        self.folder.forget_commands()
        self.worker = subprocess.Popen(
            [sys.executable, "-m", self._module, str(self.folder.path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        return self.worker

    def ranks(self) -> list[psutil.Process]:
        """The processes that train, in the order of their ranks."""
        children = psutil.Process(self.worker.pid).children()
        return sorted(children, key=lambda child: int(child.environ().get("RANK", "-1")))

    def events(self) -> list[Event]:
        return EventReader(self.folder.events_path).read_events()

    def steps(self) -> list[int]:
        """Those whose loss was said; timed steps are said once more, of their own."""
        return [step for event in self.events() if event.kind == "metric" and "loss" in event.values for step in event.steps]

    def states(self) -> list[str]:
        return [event.state for event in self.events() if isinstance(event, State)]

    def failure(self) -> Failure:
        return next(event for event in reversed(self.events()) if isinstance(event, Failure))

    def say(self, command: Command, **values: float) -> None:
        self.folder.send(ControlLine(command=command, values=values))

    def until_it_trains(self) -> list[psutil.Process]:
        """Wait for the first steps of this run; gives the ranks."""
        seen = len(self.events())
        until(lambda: any(event.kind == "metric" for event in self.events()[seen:]), STARTUP_S)
        return self.ranks()

    def logged(self, text: str) -> bool:
        return any(event.kind == "log" and text in event.text for event in self.events())


def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "waited too long"
        time.sleep(0.05)


def all_gone(processes: list[psutil.Process], within_s: float = 5.0) -> bool:
    """Whether every process ends by itself in that time."""
    return not psutil.wait_procs(processes, timeout=within_s)[1]
