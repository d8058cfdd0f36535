"""Live samples of this machine, and of a Mac whose system is made up."""

import os
import stat
import sys
import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from explorer.hardware import linux, live, live_gpu, live_mach, live_thermal, macos
from explorer.hardware.live import Sampler
from explorer.hardware.live_source import SlowSource, Source
from explorer.hardware.readers import Text
from explorer.schemas.readings import HardwareSample
from tests.hardware.recorded import text

# The names that every screen and `explorer devices --watch` may ask for, on any system.
PROMISED = {
    *("cpu.use", "cpu.per_core", "cpu.per_tier", "cpu.frequency", "load.average"),
    *("memory.used_bytes", "memory.available_bytes", "memory.pressure", "memory.pressure_percent", "swap.used_bytes"),
    *("gpu.use", "gpu.memory_used_bytes", "gpu.per_device", "thermal", "temperature.cpu", "ane.state"),
    *("power.cpu", "power.gpu", "power.ane", "power.dram", "power.system"),
}

Times = namedtuple("Times", ["user", "idle"])


def sample_after(sampler: Sampler, seconds: float) -> HardwareSample:
    time.sleep(seconds)
    return sampler.sample()


def test_a_sample_holds_what_the_kernel_says() -> None:
    sampler = Sampler()
    first, second = sample_after(sampler, 0.1), sample_after(sampler, 0.1)
    assert second.time_s > first.time_s
    use = second.readings["cpu.per_core"].value
    assert len(use) == psutil.cpu_count()
    assert all(0 <= value <= 100 for value in [*use, second.readings["cpu.use"].value])
    assert 0 < second.readings["memory.used_bytes"].value < psutil.virtual_memory().total
    assert second.readings["swap.used_bytes"].value == psutil.swap_memory().used
    assert len(second.readings["load.average"].value) == 3


def test_every_promised_reading_has_a_value_or_a_reason() -> None:
    readings = sample_after(Sampler(), 0.1).readings
    assert set(readings) == PROMISED
    for name, reading in readings.items():
        assert reading.known or (reading.value is None and reading.reason), name


def test_a_busy_core_shows() -> None:
    sampler = Sampler()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
    readings = sampler.sample().readings
    assert max(readings["cpu.per_core"].value) > 15
    tiers = linux.readings(linux.read())["cpu.tiers"].value
    rows = readings["cpu.per_tier"].value
    assert [row["name"] for row in rows] == [tier["name"] for tier in tiers]
    assert max(row["use"] for row in rows) > 5


def test_two_samples_at_once_do_not_invent_a_percentage() -> None:
    sampler = Sampler()
    assert sampler.sample().readings["cpu.use"].state == "pending"
    assert sample_after(sampler, 0.1).readings["cpu.use"].known


def test_a_sample_is_cheap() -> None:
    sampler = Sampler()
    costs = []
    for _ in range(20):
        time.sleep(0.06)
        start = time.process_time()
        sampler.sample()
        costs.append(time.process_time() - start)
    assert sorted(costs)[10] < 0.005


def test_psutil_that_raises_leaves_the_other_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(**_: object) -> None:
        raise SystemError("(ipc/mig) array not large enough")

    sampler = Sampler()
    monkeypatch.setattr(psutil, "cpu_times", raises)
    readings = sample_after(sampler, 0.1).readings
    assert readings["cpu.use"].reason == "psutil: SystemError: (ipc/mig) array not large enough"
    assert readings["memory.used_bytes"].known
    monkeypatch.undo()
    assert sample_after(sampler, 0.1).readings["cpu.use"].state == "absent"
    assert sample_after(sampler, 0.1).readings["cpu.use"].known


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS with nothing but the sysctl text of an M4 Max."""
    facts = text("mac-m4max-sequoia", "sysctl").text + "\nmachdep.cpu.brand_string: Apple M4 Max\n"
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    monkeypatch.setattr(live, "output_of", lambda command: Text(facts, ""))
    monkeypatch.setattr(live_mach, "LIBRARY", "/none/libSystem.B.dylib")
    monkeypatch.setattr(live_thermal, "FOUNDATION", "/none/Foundation")
    monkeypatch.setitem(macos.COMMANDS, "gpu", ("/none/ioreg",))
    monkeypatch.setitem(macos.COMMANDS, "neural_engine", ("/none/ioreg",))
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", None)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)


@pytest.mark.usefixtures("on_a_mac")
def test_a_mac_promises_the_same_names() -> None:
    readings = sample_after(Sampler(), 0.1).readings
    assert set(readings) == PROMISED
    assert readings["cpu.use"].known
    assert readings["cpu.frequency"].reason == "macOS tells the clock of the CPUs to root only"
    assert "do not add up" in readings["cpu.per_tier"].reason
    assert readings["thermal"].reason.startswith("libobjc: OSError")
    assert readings["power.cpu"].reason == "install explorer[metrics] for power on a Mac"
    assert readings["gpu.use"].reason == "ioreg cannot be run: No such file or directory"


@pytest.mark.usefixtures("on_a_mac")
def test_a_mac_maps_its_cpus_to_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0]

    def cpu_times(percpu: bool) -> list[Times]:
        """16 CPUs, of which the first four are always busy."""
        seconds[0] += 10
        return [Times(1000 + (seconds[0] if cpu < 4 else 0), 1000 + (0 if cpu < 4 else seconds[0])) for cpu in range(16)]

    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(psutil, "cpu_times", cpu_times)
    reading = sample_after(Sampler(), 0.06).readings["cpu.per_tier"]
    assert [(row["name"], row["use"]) for row in reading.value] == [("Performance", 0), ("Efficiency", 100)]
    assert reading.state == "estimated"


def test_an_ioreg_that_hangs_costs_its_limit_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = tmp_path / "ioreg"
    sleeper.write_text("#!/bin/sh\nexec sleep 30\n")
    sleeper.chmod(sleeper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setitem(macos.COMMANDS, "gpu", (str(sleeper),))
    monkeypatch.setattr(live_gpu, "IOREG_LIMIT_S", 0.3)
    source = SlowSource(Source(live_gpu.mac_gpu, live_gpu.MAC_UNITS), "ioreg")
    start_s = time.monotonic()
    assert source()["gpu.use"].state == "pending"
    assert time.monotonic() - start_s < 0.3
    time.sleep(0.25)
    assert source()["gpu.use"].reason == "ioreg gave no answer within 0.3 s"
