"""A program on a pseudo-terminal, as SSH or tmux would run it."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Terminal:
    """A child on a pseudo-terminal of 120 x 40, and what it wrote."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.descriptor = descriptor
        self.written = b""

    def read_for(self, seconds: float) -> bytes:
        """What comes within this time."""
        start, end = len(self.written), time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._read(left):
            pass
        return self.written[start:]

    def read_until(self, text: bytes, limit_s: float = 20.0) -> None:
        """Read until `text` has come."""
        end = time.monotonic() + limit_s
        while text not in self.written:
            if (left := end - time.monotonic()) <= 0 or not self._read(left):
                raise AssertionError(f"waited in vain for {text!r}; last: {self.written[-2000:]!r}")

    def press(self, keys: bytes) -> None:
        os.write(self.descriptor, keys)

    def wait(self, limit_s: float = 5.0) -> int:
        """The exit code, once everything written has been read."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read_for(0.1)
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("still running")

    def _read(self, seconds: float) -> bool:
        if not select.select([self.descriptor], [], [], seconds)[0]:
            return True
        try:
            found = os.read(self.descriptor, 1 << 16)
        except OSError:  # the child closed its side
            return False
        self.written += found
        return bool(found)


@contextmanager
def terminal(*arguments: str, **environment: str) -> Iterator[Terminal]:
    """`python ARGUMENTS` on a terminal; killed at the end if it still runs."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        for number in (signal.SIGHUP, signal.SIGINT):  # a suite in the background has them ignored
            signal.signal(number, signal.SIG_DFL)
        settings = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", "COLUMNS": "120", "LINES": "40"}
        os.execve(sys.executable, [sys.executable, *arguments], {**os.environ, **settings, **environment})
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    child = Terminal(pid, descriptor)
    try:
        yield child
    finally:
        if child.pid:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
        os.close(descriptor)
