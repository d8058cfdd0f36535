"""Use and clock by tier: which CPU is in which tier, and what is said where nothing tells."""

import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from explorer.hardware import sysctl
from explorer.hardware.live_clock import MAX_ASKED_IN_TIER, NOT_ON_MAC, LinuxClock, NoClock
from explorer.hardware.live_cpu import CpuSource
from explorer.hardware.live_tiers import UNTOLD, LiveTiers, of_linux, of_mac
from explorer.schemas.readings import Reading
from tests.hardware.live_files import tree
from tests.hardware.recorded import text

HYBRID = LiveTiers((("Performance", (0, 1)), ("Efficiency", (2, 3))))
Times = namedtuple("Times", ["user", "idle"])


def clock_files(mhz: dict[int, object]) -> dict[str, object]:
    return {f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": f"{value}000" for cpu, value in mhz.items()}


def use_of(busy: list[float], source: CpuSource, monkeypatch: pytest.MonkeyPatch) -> dict[str, Reading]:
    """`cpu.per_tier` and `cpu.frequency` after 100 s in which each CPU was busy for so many."""
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [Times(1000 + value, 1100 - value) for value in busy])
    time.sleep(0.06)
    readings = source()
    return {"tiers": readings["cpu.per_tier"], "frequency": readings["cpu.frequency"]}


@pytest.fixture
def idle_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [Times(1000, 1000) for _ in range(4)])


@pytest.mark.usefixtures("idle_cpus")
def test_hybrid_tiers_have_their_own_use_and_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path, clock_files({0: 5100, 1: 4900, 2: 3800, 3: 3600}))
    found = use_of([80, 60, 10, 0], CpuSource(HYBRID, LinuxClock(HYBRID, root)), monkeypatch)
    assert found["tiers"].value == [
        {"name": "Performance", "use": 70.0, "mhz": 5000.0},
        {"name": "Efficiency", "use": 5.0, "mhz": 3700.0},
    ]
    assert (found["frequency"].value, found["frequency"].state) == (4350.0, "ok")


@pytest.mark.usefixtures("idle_cpus")
def test_no_clock_is_a_reason_not_the_constant_of_cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = LinuxClock(HYBRID, tmp_path, virtual=True)
    found = use_of([0, 0, 0, 0], CpuSource(HYBRID, clock), monkeypatch)["frequency"]
    assert (found.value, found.state) == (None, "absent")
    assert found.reason == "this system shows no clock: virtual machine"
    assert LinuxClock(HYBRID, tmp_path).no_clock == "this system shows no clock: no cpufreq"
    silent = use_of([0, 0, 0, 0], CpuSource(HYBRID, NoClock(NOT_ON_MAC)), monkeypatch)["frequency"]
    assert silent.reason == NOT_ON_MAC


def test_a_clock_of_zero_or_of_words_is_no_clock(tmp_path: Path) -> None:
    root = tree(tmp_path, clock_files({0: 0, 1: "<unknown>", 2: 2400}))
    assert LinuxClock(HYBRID, root).mhz() == {2: 2400.0}


def test_a_large_tier_is_asked_in_part_and_says_so(tmp_path: Path) -> None:
    tiers = LiveTiers((("All cores", tuple(range(96))),))
    clock = LinuxClock(tiers, tree(tmp_path, clock_files(dict.fromkeys(range(96), 3000))))
    assert len(clock.mhz()) == MAX_ASKED_IN_TIER
    assert clock.caveat == "mean of 16 of 96 CPUs"


@pytest.mark.usefixtures("idle_cpus")
def test_offline_cpus_keep_the_others_in_their_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    tiers = LiveTiers((("Performance", (0, 2)), ("Efficiency", (5, 7))))
    found = use_of([100, 100, 0, 0], CpuSource(tiers, NoClock("")), monkeypatch)["tiers"]
    assert [row["use"] for row in found.value] == [100.0, 0.0]


def test_linux_tiers_without_cpus_are_not_guessed() -> None:
    assert of_linux([{"name": "All cores", "cpus": [1, 0]}]).cpus == [0, 1]
    assert of_linux([{"name": "All cores", "threads": 4}]) == LiveTiers(reason=UNTOLD)


def test_efficiency_cores_of_a_mac_come_first_as_an_estimate() -> None:
    recorded = sysctl.tiers(sysctl.parse(text("mac-m4max-sequoia", "sysctl").text))
    count = sum(tier["threads"] for tier in recorded)
    tiers = of_mac(recorded, count, "Apple M4 Max")
    efficiency = recorded[1]["threads"]
    assert [name for name, _ in tiers.rows] == ["Performance", "Efficiency"]
    assert tiers.rows[1][1] == tuple(range(efficiency))
    assert tiers.rows[0][1] == tuple(range(efficiency, count))
    assert "taken to come first" in tiers.guess


def test_an_order_that_nobody_knows_is_not_guessed() -> None:
    super_tiers = sysctl.tiers(sysctl.parse(text("mac-m5max-macos26", "sysctl").text))
    count = sum(tier["threads"] for tier in super_tiers)
    assert not of_mac(super_tiers, count, "Apple M5 Max").rows
    ordinary = [{"name": "Performance", "threads": 16}, {"name": "Efficiency", "threads": 4}]
    assert not of_mac(ordinary, 20, "Apple M1 Ultra").rows
    assert "do not add up" in of_mac(ordinary, 8, "Apple M1").reason


def test_one_tier_of_a_mac_is_no_guess() -> None:
    assert of_mac([{"name": "Standard", "threads": 3}], 3, "Apple M1 (Virtual)") == LiveTiers((("Standard", (0, 1, 2)),))


@pytest.mark.usefixtures("idle_cpus")
def test_a_guess_is_marked_as_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    tiers = LiveTiers(HYBRID.rows, guess="taken to come first")
    found = use_of([50, 50, 0, 0], CpuSource(tiers, NoClock("")), monkeypatch)["tiers"]
    assert (found.state, found.reason) == ("estimated", "taken to come first")
