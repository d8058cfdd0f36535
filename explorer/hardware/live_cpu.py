"""Live use and clock of the CPUs, of each and of each tier."""

import os
import time
from collections.abc import Iterable, Sequence

import psutil

from explorer.hardware.answers import found, known, missing
from explorer.hardware.live_clock import SOURCE as CLOCK_SOURCE
from explorer.hardware.live_clock import LinuxClock, NoClock
from explorer.hardware.live_source import Readings, guarded
from explorer.hardware.live_tiers import LiveTiers
from explorer.schemas.readings import Reading

UNITS = {"cpu.use": "%", "cpu.per_core": "%", "cpu.per_tier": "%", "cpu.frequency": "MHz"}
# Below this time the kernel's ticks of 10 ms make percentages meaningless.
MIN_INTERVAL_S = 0.05
IDLE_FIELDS = ("idle", "iowait")
COUNTED_TWICE = ("guest", "guest_nice")  # Linux counts them in user and nice already
BusyAndAll = tuple[float, float]


class CpuSource:
    """Use in percent as the mean since the previous reading, and the clock now."""

    def __init__(self, tiers: LiveTiers, clock: LinuxClock | NoClock) -> None:
        self._tiers = tiers
        self._clock = clock
        self._last_s = time.monotonic()
        self._last_times = guarded(_cpu_times)

    def __call__(self) -> Readings:
        """`cpu.use`, `cpu.per_core`, `cpu.per_tier` as rows of `{name, use, mhz}`, and `cpu.frequency`."""
        mhz = self._clock.mhz()
        frequency = found(_mean(mhz.values()), CLOCK_SOURCE, self._clock.no_clock, "MHz")
        if frequency.known and self._clock.caveat:
            frequency = known(frequency.value, CLOCK_SOURCE, "MHz", self._clock.caveat)
        return {**self._use(mhz), "cpu.frequency": frequency}

    def _use(self, mhz: dict[int, float]) -> Readings:
        names, now_s = ("cpu.use", "cpu.per_core", "cpu.per_tier"), time.monotonic()
        if now_s - self._last_s < MIN_INTERVAL_S:
            return dict.fromkeys(names, missing("needs a moment between two samples", "psutil", "%", "pending"))
        last, times = self._last_times, guarded(_cpu_times)
        self._last_s, self._last_times = now_s, times
        if isinstance(times, str) or isinstance(last, str) or len(times) != len(last):
            reason = times if isinstance(times, str) else "the set of CPUs changed"
            return dict.fromkeys(names, missing(reason, "psutil", "%"))
        use = [_percent(before, after) for before, after in zip(last, times, strict=True)]
        return {
            "cpu.use": found(_percent(_sum(last), _sum(times)), "psutil", "the clock of the CPUs stands still", "%"),
            "cpu.per_core": known(use, "psutil", "%"),
            "cpu.per_tier": self._per_tier(use, mhz),
        }

    def _per_tier(self, use: list[float | None], mhz: dict[int, float]) -> Reading:
        cpus = self._tiers.cpus
        if len(cpus) != len(use):
            return missing(self._tiers.reason if not cpus else "the set of CPUs changed", "psutil", "%")
        use_of = dict(zip(cpus, use, strict=True))
        rows = [
            {"name": name, "use": _mean(use_of[cpu] for cpu in tier), "mhz": _mean(mhz.get(cpu) for cpu in tier)}
            for name, tier in self._tiers.rows
        ]
        state = "estimated" if self._tiers.guess else "ok"
        return Reading(value=rows, unit="%", source="psutil", state=state, reason=self._tiers.guess)


def load_average() -> Readings:
    """`load.average` over 1, 5 and 15 minutes."""
    try:
        return {"load.average": known(list(os.getloadavg()), "getloadavg")}
    except OSError:
        return {"load.average": missing("the system gives no load average", "getloadavg")}


def _cpu_times() -> list[BusyAndAll]:
    """(busy, all) seconds of each CPU since the system started."""
    return [_busy_and_all(times._asdict()) for times in psutil.cpu_times(percpu=True)]


def _busy_and_all(times: dict[str, float]) -> BusyAndAll:
    total = sum(value for name, value in times.items() if name not in COUNTED_TWICE)
    return total - sum(times.get(name, 0.0) for name in IDLE_FIELDS), total


def _percent(before: BusyAndAll, after: BusyAndAll) -> float | None:
    passed = after[1] - before[1]
    return round(min(100.0, max(0.0, 100 * (after[0] - before[0]) / passed)), 1) if passed > 0 else None


def _sum(times: Sequence[BusyAndAll]) -> BusyAndAll:
    return sum(busy for busy, _ in times), sum(total for _, total in times)


def _mean(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return round(sum(told) / len(told), 1) if told else None
