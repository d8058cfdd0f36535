"""Starting worker processes, one of them kept warm with torch imported."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from explorer import home

# Jobs that time things: no spare worker is warmed beside them.
TIMING_KINDS = frozenset({"benchmark", "ceilings"})
TORCH_KINDS = frozenset({"train", "convert", "quantize", "prune", *TIMING_KINDS})


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

    def start(self, folder: Path, kind: str) -> Worker:
        """A worker on the job in `folder`."""
        if kind in TORCH_KINDS and (spare := self._take_spare()) is not None and spare.stdin is not None:
            spare.stdin.write(os.fsencode(folder) + b"\n")
            spare.stdin.close()
            return Worker(spare)
        return Worker(self._spawn([str(folder)], stdin=subprocess.DEVNULL))

    def warm_up(self) -> None:
        """Have a spare ready for the next job that needs torch."""
        if self._keep_warm and (self._spare is None or self._spare.poll() is not None):
            self._spare = self._spawn(["--warm"], stdin=subprocess.PIPE)

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

    def _spawn(self, arguments: list[str], stdin: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", self._module, *arguments],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            env=worker_environment(),
            cwd=home.engine_folder(),
            start_new_session=True,
        )


def worker_environment() -> dict[str, str]:
    """The engine's environment with what must be set before torch starts."""
    return {"PYTORCH_ENABLE_MPS_FALLBACK": "1", "PYTHONUNBUFFERED": "1", **os.environ}
