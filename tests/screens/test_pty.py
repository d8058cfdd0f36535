"""What reaches a real terminal: bytes, time to the first frame, and the way out."""

import os
import re
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.terminal import Terminal
from tests.terminal import terminal as program

KIB = 1024
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:38|48);[25];")


@contextmanager
def terminal(mode: str, **environment: str) -> Iterator[Terminal]:
    """The launcher in `mode` on a terminal."""
    with program("-m", "tests.screens.pty_app", mode, **environment) as child:
        yield child


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
def test_hardware_with_every_live_value_keeps_to_5_kib_a_second() -> None:
    with terminal("mac") as child:
        child.read_until(b"roofline  ")
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


@contextmanager
def eight_long_runs() -> Iterator[Terminal]:
    """Eight runs of a million steps in one overlay, each growing."""
    with terminal("watch") as child:
        child.read_until(b"samples/s")
        for letter in b"BCDEFGH":
            child.press(b"\x1b[B ")
            child.read_for(0.2)
            child.read_until(bytes([letter]) + b"\x1b")
        child.read_for(1.0)
        yield child


@pytest.mark.slow
def test_eight_runs_of_a_million_steps_grow_within_15_kib_a_second() -> None:
    with eight_long_runs() as child:
        written = child.read_for(8.0)
        assert 0 < len(written) / 8 <= 15 * KIB


@pytest.mark.slow
def test_eight_runs_of_a_million_steps_are_painted_anew_within_100_ms() -> None:
    with eight_long_runs() as child:
        assert min(repaint_cpu_s(child, b"l") for _ in range(6)) <= 0.1


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


def repaint_cpu_s(child: Terminal, key: bytes) -> float:
    """Processor seconds that the program spends from a key until its new picture, far larger than an update, is written."""
    program, start = psutil.Process(child.pid), time.monotonic()
    before, painted = sum(program.cpu_times()[:2]), 0
    child.press(key)
    while painted < 15 * KIB:
        assert time.monotonic() - start < 5.0
        painted += len(child.read_for(0.02))
    return sum(program.cpu_times()[:2]) - before


def first_frame_s(mode: str, last: bytes) -> float:
    """Seconds from the start of the process until `last` has been drawn."""
    start = time.monotonic()
    with terminal(mode) as child:
        child.read_until(last)
        return time.monotonic() - start
