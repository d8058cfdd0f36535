"""Starting worker processes, one of them kept warm with torch imported."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from explorer import home
from explorer.engine.environment import worker_environment

# Jobs that time things: no spare worker is warmed beside them.
TIMING_KINDS = frozenset({"benchmark", "ceilings", "prove"})
TORCH_KINDS = frozenset({"train", "convert", "quantize", "prune", "evaluate", "hints", "operators", *TIMING_KINDS})


class Worker:
    """A child process running one job; it leads its own session, so nothing that ends the engine ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.peak_rss_bytes = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; minus the signal number when one killed it."""
        return self._process.poll()

    def note_memory(self) -> None:
        """Remember the most memory it was seen with, to say so when it is killed."""
        with suppress(psutil.Error, OSError, RuntimeError, SystemError):  # the last two on new versions of macOS
            self.peak_rss_bytes = max(self.peak_rss_bytes, psutil.Process(self.pid).memory_info().rss)

    def signal_group(self, number: signal.Signals) -> None:
        signal_group(self.pid, number)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal a worker and all it started; a group that is gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


class WorkerPool:
    """Starts workers; keeps one spare with torch imported, so that a job starts at once."""

    def __init__(self, *, keep_warm: bool = True, module: str = "explorer.engine.worker") -> None:
        self._keep_warm = keep_warm
        self._module = module
        self._spare: subprocess.Popen[bytes] | None = None
        self._spare_environment: dict[str, str] = {}

    def start(self, folder: Path, kind: str, extra: Mapping[str, str] | None = None) -> Worker:
        """A worker on the job in `folder` with the `extra` environment; the spare only where torch started in the same one."""
        extra = extra or {}
        fits = kind in TORCH_KINDS and extra.items() <= self._spare_environment.items()
        if fits and (spare := self._take_spare()) is not None and spare.stdin is not None:
            spare.stdin.write(os.fsencode(folder) + b"\n")
            spare.stdin.close()
            return Worker(spare)
        return Worker(self._spawn([str(folder)], subprocess.DEVNULL, worker_environment(extra)))

    def warm_up(self) -> None:
        """Have a spare ready for the next job that needs torch."""
        if self._keep_warm and (self._spare is None or self._spare.poll() is not None):
            self._spare_environment = worker_environment({})
            self._spare = self._spawn(["--warm"], subprocess.PIPE, self._spare_environment)

    def close(self) -> None:
        """Let the spare go; workers with a job go on."""
        if (spare := self._take_spare()) is not None:
            spare.kill()
            spare.wait()
            if spare.stdin is not None:
                spare.stdin.close()

    def _take_spare(self) -> "subprocess.Popen[bytes] | None":
        spare, self._spare = self._spare, None
        return spare if spare is not None and spare.poll() is None else None

    def _spawn(self, arguments: list[str], stdin: int, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", self._module, *arguments],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            env=environment,
            cwd=home.engine_folder(),
            start_new_session=True,
        )
