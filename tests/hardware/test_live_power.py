"""Power: a counter that moves gives watts, one that stands still or is denied gives a reason and never 0 W."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from explorer.hardware import live_power
from explorer.hardware.live_power import AppleEnergy, Rapl
from explorer.hardware.power_rail import STILL, Rail
from explorer.schemas.readings import Reading
from tests.hardware.live_files import tree

PACKAGE = "class/powercap/intel-rapl:0"


def answers(rail: Rail, samples: list[tuple[float, float]]) -> list[Reading]:
    return [rail.reading(now_s, energy_j) for now_s, energy_j in samples]


def test_watts_are_joules_between_two_changes() -> None:
    first, second, third, fourth = answers(Rail("test"), [(0, 50), (1, 60), (2, 72), (3.5, 102)])
    assert (first.state, second.state, first.value) == ("pending", "pending", None)
    assert (third.value, third.state, third.unit) == (12, "ok", "W")
    assert fourth.value == 20


def test_a_counter_that_stands_still_is_not_zero_watts() -> None:
    readings = answers(Rail("test"), [(second, 7) for second in range(6)])
    assert readings[0].state == "pending"
    assert all(reading.value is None for reading in readings)
    assert (readings[-1].state, readings[-1].reason) == ("absent", STILL)


def test_a_counter_that_stops_loses_its_watts_and_begins_anew() -> None:
    rail = Rail("test")
    readings = answers(rail, [(0, 0), (1, 10), (2, 20), (3, 20), (6, 20)])
    assert (readings[3].state, readings[3].value) == ("stale", 10)
    assert "1 s ago" in readings[3].reason
    assert (readings[4].state, readings[4].value) == ("absent", None)
    again = answers(rail, [(60, 20), (61, 25), (62, 30)])
    assert (again[1].state, again[2].value) == ("pending", 5)


def test_batches_are_smoothed_over_the_time_between_them() -> None:
    """20 W in batches of 20 J each second, seen 0, 1 or 2 at a time."""
    readings = answers(Rail("test"), [(0, 0), (1, 20), (2, 20), (3, 60), (4, 60), (5, 100)])
    assert [reading.value for reading in readings[3:]] == [20, 20, 20]
    quick = answers(Rail("test"), [(0, 0), (0.2, 30), (0.4, 30.1), (1.2, 50)])
    assert (quick[2].value, quick[3].value) == (None, 20)


def test_a_counter_wraps_around_at_its_range() -> None:
    readings = answers(Rail("test", range_j=1000), [(0, 970), (1, 980), (2, 995), (3, 10)])
    assert [reading.value for reading in readings[2:]] == [15, 15]


def test_a_reset_or_a_long_gap_starts_anew() -> None:
    assert answers(Rail("test"), [(0, 900), (1, 910), (2, 5)])[-1].state == "pending"
    assert answers(Rail("test", range_j=1000), [(0, 0), (1, 10), (2, 20), (500, 30)])[-1].state == "pending"


def rapl(root: Path, energies: list[dict[str, object]]) -> list[dict[str, Reading]]:
    """Readings of one second after the other with these files rewritten."""
    now_s = iter(range(100))
    tree(root, energies[0])
    seconds = [0.0]
    source, found = Rapl(root, clock=lambda: seconds[0]), []
    for files in energies:
        seconds[0] = float(next(now_s))
        tree(root, files)
        found.append(source())
    return found


def test_rapl_sums_packages_and_wraps_around(tmp_path: Path) -> None:
    fixed: dict[str, object] = {f"{PACKAGE}/name": "package-0", f"{PACKAGE}/max_energy_range_uj": 1000_000_000}
    fixed |= {"class/powercap/intel-rapl:1/name": "package-1", "class/powercap/intel-rapl:1/max_energy_range_uj": 10**12}
    fixed |= {"class/powercap/intel-rapl:0:0/name": "core", "class/powercap/intel-rapl:0:1/name": "dram"}
    counters: list[dict[str, object]] = [
        {
            f"{PACKAGE}/energy_uj": (950 + 30 * second) % 1000 * 1_000_000,
            "class/powercap/intel-rapl:1/energy_uj": (1000 + 50 * second) * 1_000_000,
            "class/powercap/intel-rapl:0:0/energy_uj": 900 * second * 1_000_000,
            "class/powercap/intel-rapl:0:1/energy_uj": 4 * second * 1_000_000,
        }
        for second in range(4)
    ]
    found = rapl(tmp_path, [fixed | counters[0], *counters[1:]])
    assert [readings["power.cpu"].value for readings in found] == [None, None, 80, 80]
    assert found[3]["power.dram"].value == 4
    assert found[3]["power.system"].state == "absent"


def test_rapl_of_root_only_is_denied_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: Path) -> str:
        raise PermissionError("energy_uj")

    source = Rapl(tree(tmp_path, {f"{PACKAGE}/name": "package-0", f"{PACKAGE}/energy_uj": 5}))
    monkeypatch.setattr(Path, "read_text", denied)
    reading = source()["power.cpu"]
    assert (reading.state, reading.value, reading.unit) == ("denied", None, "W")
    assert "sudo chmod a+r" in reading.reason


def test_no_counter_at_all_is_a_reason(tmp_path: Path) -> None:
    readings = Rapl(tmp_path, virtual=True)()
    assert set(readings) == set(live_power.RAPL_UNITS)
    assert readings["power.cpu"].reason == "no RAPL energy counter in this virtual machine"
    assert readings["power.ane"].state == "absent"


def test_apple_energy_by_rail_with_frozen_ones() -> None:
    """As on macOS 27: the GPU's energy moves, the CPU's and the Neural Engine's stand still, DRAM is not there."""
    second = [0]

    def energy() -> SimpleNamespace:
        return SimpleNamespace(cpu_total_mj=500, gpu_mj=3000 * second[0], ane_mj=0, dram_mj=None)

    source = AppleEnergy(SimpleNamespace(get_cumulative_energy=energy), lambda: float(second[0]))
    for second[0] in range(6):
        readings = source()
    assert readings["power.gpu"].value == 3
    assert (readings["power.cpu"].value, readings["power.cpu"].reason) == (None, STILL)
    assert "rests" in readings["power.ane"].reason
    assert readings["power.dram"].reason == "not reported by this system"
    assert set(readings) == set(live_power.MAC_UNITS)


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", None)
    assert AppleEnergy()()["power.cpu"].reason == "install explorer[metrics] for power on a Mac"


def test_a_chip_that_the_extra_does_not_know_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises() -> None:
        raise RuntimeError("no energy channels")

    module = ModuleType("zeus_apple_silicon")
    module.__dict__["AppleEnergyMonitor"] = raises
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", module)
    assert AppleEnergy()()["power.ane"].reason == "zeus-apple-silicon: RuntimeError: no energy channels"
