"""What reaches a real terminal: bytes, time to the first frame, and the way out."""

import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KIB = 1024
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:38|48);[25];")


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
def terminal(mode: str, **environment: str) -> Iterator[Terminal]:
    """The launcher in `mode` on a terminal; killed at the end if it still runs."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        settings = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", "COLUMNS": "120", "LINES": "40"}
        os.execve(
            sys.executable, [sys.executable, "-m", "tests.screens.pty_app", mode], {**os.environ, **settings, **environment}
        )
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    child = Terminal(pid, descriptor)
    try:
        yield child
    finally:
        if child.pid:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
        os.close(descriptor)


def test_an_idle_screen_writes_nothing() -> None:
    with terminal("idle") as child:
        child.read_until(b"EPYC")
        child.read_for(1.5)
        assert child.read_for(3.0) == b""


@pytest.mark.slow
def test_hardware_at_1_hz_writes_at_most_5_kib_a_second() -> None:
    with terminal("hardware") as child:
        child.read_until(b"CPU  ")
        child.read_for(2.0)
        written = child.read_for(8.0)
        assert 0 < len(written) / 8 <= 5 * KIB


@pytest.mark.slow
def test_train_at_4_hz_writes_at_most_15_kib_a_second() -> None:
    with terminal("train") as child:
        child.read_until(b"EPYC")
        child.press(b"3")
        child.read_until(b"train")
        child.read_for(2.0)
        written = child.read_for(8.0)
        assert 0 < len(written) / 8 <= 15 * KIB


def test_sigterm_restores_the_terminal() -> None:
    with terminal("train") as child:
        child.read_until(b"EPYC")
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait() == 0
        assert b"\x1b[?1049l" in child.written
        assert b"\x1b[?1003l" in child.written


def test_sighup_ends_it() -> None:
    with terminal("idle") as child:
        child.read_until(b"EPYC")
        os.kill(child.pid, signal.SIGHUP)
        assert child.wait() == 0


def test_q_leaves_and_the_farewell_stands_below() -> None:
    with terminal("train") as child:
        child.read_until(b"1 job")
        child.press(b"q")
        assert child.wait() == 0
        assert b"1 job goes on in the background" in child.written.partition(b"\x1b[?1049l")[2]


def test_no_color_sends_no_colours() -> None:
    with terminal("hardware", NO_COLOR="1") as child:
        child.read_until(b"EPYC")
        child.read_for(1.5)
        assert COLOUR.findall(child.written) == []


def test_256_colours_keep_greys_grey() -> None:
    with terminal("idle", COLORTERM="") as child:
        child.read_until(b"EPYC")
        child.read_for(0.5)
        sent = {int(number) for number in re.findall(rb"[34]8;5;(\d+)", child.written)}
        assert 17 not in sent  # the dark blue that many terminals make of near-greys
        assert sent


@pytest.mark.slow
def test_the_first_frame_takes_at_most_twice_that_of_a_bare_app() -> None:
    bare, ours = [], []
    for _ in range(5):
        bare.append(first_frame_s("bare", b"ready"))
        ours.append(first_frame_s("idle", b"leave"))
    assert statistics.median(ours) <= 2 * statistics.median(bare)


def first_frame_s(mode: str, last: bytes) -> float:
    """Seconds from the start of the process until `last` has been drawn."""
    start = time.monotonic()
    with terminal(mode) as child:
        child.read_until(last)
        return time.monotonic() - start
