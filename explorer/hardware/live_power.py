"""Live power in watts, from energy counters that move: RAPL on Linux, zeus-apple-silicon on a Mac. A still counter is no 0 W."""

import importlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.hardware.answers import missing
from explorer.hardware.live_drm import number
from explorer.hardware.live_source import Readings
from explorer.hardware.power_rail import Rail, total
from explorer.hardware.readers import text_of
from explorer.schemas.readings import Reading

RAPL_UNITS = {"power.cpu": "W", "power.dram": "W", "power.system": "W", "power.ane": "W"}
MAC_UNITS = {**RAPL_UNITS, "power.gpu": "W"}
# Zone names of kernel Documentation/power/powercap/powercap.rst; core and uncore are parts of a package.
ZONES = {"power.cpu": re.compile(r"package-[0-9]{1,3}"), "power.dram": re.compile(r"dram"), "power.system": re.compile(r"psys")}
DENIED = (
    "only root may read the energy counters of the CPU (CVE-2020-8694); "
    "to allow it until the next start: sudo chmod a+r /sys/class/powercap/intel-rapl*/energy_uj"
)
NO_ANE = "only Apple chips have a Neural Engine"
INSTALL = "install explorer[metrics] for power on a Mac"
ANE_STILL = "not reported by this system, or the Neural Engine rests: its energy counter stands still"
NO_SYSTEM = "macOS gives the power of the whole system only through the private SMC"
# Fields of zeus_apple_silicon.AppleEnergyMetrics, in millijoules.
MAC_RAILS = {"power.cpu": "cpu_total_mj", "power.gpu": "gpu_mj", "power.ane": "ane_mj", "power.dram": "dram_mj"}


class Rapl:
    """Running average power limit counters of Intel and AMD CPUs, in microjoules below `/sys/class/powercap`."""

    def __init__(self, root: Path = Path("/sys"), virtual: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        folders = sorted((root / "class/powercap").glob("intel-rapl:*"))
        self._zones = {name: [_Zone(path) for path in folders if _is(path, pattern)] for name, pattern in ZONES.items()}
        self._clock = clock
        self._none = "no RAPL energy counter" + (" in this virtual machine" if virtual else "")

    def __call__(self) -> Readings:
        """`power.cpu`, `power.dram` and `power.system`, each over all packages."""
        readings = {
            name: total([zone.reading(self._clock()) for zone in zones]) if zones else missing(self._none, "RAPL", "W")
            for name, zones in self._zones.items()
        }
        return {**readings, "power.ane": missing(NO_ANE, unit="W")}


class _Zone:
    def __init__(self, folder: Path) -> None:
        self._file = folder / "energy_uj"
        range_uj = number(folder / "max_energy_range_uj")
        self._rail = Rail("RAPL", range_uj / 1e6 if range_uj else None)

    def reading(self, now_s: float) -> Reading:
        try:
            energy_uj = int(self._file.read_text())
        except PermissionError:
            return missing(DENIED, "RAPL", "W", "denied")
        except (OSError, ValueError) as error:
            return missing(f"{self._file} cannot be read ({type(error).__name__})", "RAPL", "W")
        return self._rail.reading(now_s, energy_uj / 1e6)


def _is(folder: Path, pattern: re.Pattern[str]) -> bool:
    return pattern.fullmatch(text_of(folder / "name").text.strip()) is not None


class AppleEnergy:
    """The energy model of an Apple chip through zeus-apple-silicon, the extra `metrics`: estimates of the system, no sensors.

    `monitor` stands in for its AppleEnergyMonitor in tests. Never run on a Mac yet.
    """

    def __init__(self, monitor: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._monitor, self._none = (monitor, "") if monitor is not None else _apple_monitor()
        self._clock = clock
        self._rails = {name: _apple_rail(name) for name in MAC_RAILS}

    def __call__(self) -> Readings:
        """`power.cpu`, `power.gpu`, `power.ane` and `power.dram`; a rail that does not move is not reported (macOS 27)."""
        system = {"power.system": missing(NO_SYSTEM, unit="W")}
        if self._monitor is None:
            return {**dict.fromkeys(MAC_RAILS, missing(self._none, unit="W")), **system}
        energy, now_s = self._monitor.get_cumulative_energy(), self._clock()
        return {**{name: self._rail(name, getattr(energy, field, None), now_s) for name, field in MAC_RAILS.items()}, **system}

    def _rail(self, name: str, millijoules: float | None, now_s: float) -> Reading:
        if millijoules is None:
            return missing("not reported by this system", "zeus-apple-silicon", "W")
        return self._rails[name].reading(now_s, millijoules / 1000)


def _apple_rail(name: str) -> Rail:
    return Rail("zeus-apple-silicon", still=ANE_STILL) if name == "power.ane" else Rail("zeus-apple-silicon")


def _apple_monitor() -> tuple[Any, str]:
    """The monitor, or why there is none."""
    try:
        return importlib.import_module("zeus_apple_silicon").AppleEnergyMonitor(), ""
    except ImportError:
        return None, INSTALL
    except Exception as error:  # the binding raises its own kinds on a chip that it does not know
        return None, f"zeus-apple-silicon: {type(error).__name__}: {error}"
