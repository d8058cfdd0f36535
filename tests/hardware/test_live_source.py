"""A source that raises or hangs costs its own readings, and a bounded time."""

import threading
import time

from explorer.hardware.answers import known, missing
from explorer.hardware.live import Sampler
from explorer.hardware.live_source import Readings, SlowSource, Source

UNITS = {"gpu.use": "%"}


def raises() -> Readings:
    raise SystemError("array not large enough")


def test_a_source_that_raises_leaves_the_others() -> None:
    sampler = Sampler([Source(raises, UNITS), Source(lambda: {"thermal": known("fair", "test")}, {"thermal": ""})])
    readings = sampler.sample().readings
    assert (readings["gpu.use"].state, readings["gpu.use"].reason) == ("absent", "SystemError: array not large enough")
    assert (readings["gpu.use"].value, readings["gpu.use"].unit) == (None, "%")
    assert readings["thermal"].value == "fair"


def test_every_promised_name_is_there() -> None:
    assert Source(dict, UNITS)()["gpu.use"] == missing("this system does not say", unit="%")


def test_a_quick_answer_comes_with_the_same_sample() -> None:
    slow = SlowSource(Source(lambda: {"gpu.use": known(37, "test", "%")}, UNITS), "ioreg")
    assert slow()["gpu.use"].value == 37


def test_a_source_that_hangs_is_waited_for_once_and_comes_back() -> None:
    release = threading.Event()

    def hangs() -> Readings:
        release.wait(10)
        return {"gpu.use": known(1, "test", "%")}

    slow = SlowSource(Source(hangs, UNITS), "ioreg", patience_s=0.05, limit_s=0.15)
    start_s = time.monotonic()
    first, second = slow()["gpu.use"], slow()["gpu.use"]
    assert time.monotonic() - start_s < 0.15
    assert first.state == second.state == "pending"
    time.sleep(0.2)
    late = slow()["gpu.use"]
    assert (late.state, late.reason, late.value) == ("absent", "ioreg gave no answer within 0.15 s", None)
    release.set()
    time.sleep(0.05)
    assert slow()["gpu.use"].value == 1
