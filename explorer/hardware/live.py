"""Live use of CPU, memory, swap and GPU. Each call of a system library is guarded by itself: new systems break one at a time."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from explorer.hardware import cgroup, linux, sysctl, vm_stat
from explorer.hardware.answers import found, known, missing
from explorer.hardware.live_gpu import gpu_sampler
from explorer.hardware.readers import Text, output_of, text_of
from explorer.schemas.readings import HardwareSample, Reading

# Below this time the kernel's ticks of 10 ms make percentages meaningless.
MIN_INTERVAL_S = 0.05
IDLE_FIELDS = ("idle", "iowait")
COUNTED_TWICE = ("guest", "guest_nice")  # Linux counts them in user and nice already
MAC = sys.platform == "darwin"


class Sampler:
    """Use since its own previous sample: one caller at a time, from any thread.

    Making one may take some 0.1 s (topology, NVML): do it in a thread. A sample costs milliseconds.
    """

    def __init__(self) -> None:
        self._tiers = [] if MAC else linux.Processor(linux.read()).tiers
        self._memory_files = {
            folder: memory
            for folder, files in cgroup.read_groups().items()
            if (memory := [name for name in files if name.startswith("memory.")])
        }
        self._gpu = gpu_sampler()
        self._last_s = time.monotonic()
        self._last_times = _guarded(_cpu_times)

    def sample(self) -> HardwareSample:
        """Live readings now; use in percent is the mean since the previous sample or the start."""
        now_s = time.monotonic()
        readings = {**self._cpu(now_s), **self._memory(), "load.average": _load_average(), **self._gpu()}
        return HardwareSample(time_s=now_s, readings=readings)

    def _cpu(self, now_s: float) -> dict[str, Reading]:
        names = ("cpu.use", "cpu.per_core", "cpu.per_tier")
        if now_s - self._last_s < MIN_INTERVAL_S:
            return dict.fromkeys(names, missing("needs a moment between two samples", "psutil", "%", "pending"))
        last, times = self._last_times, _guarded(_cpu_times)
        self._last_s, self._last_times = now_s, times
        if isinstance(times, str) or isinstance(last, str) or len(times) != len(last):
            reason = times if isinstance(times, str) else "the set of CPUs changed"
            return dict.fromkeys(names, missing(reason, "psutil", "%"))
        use = [_percent(before, after) for before, after in zip(last, times, strict=True)]
        return {
            "cpu.use": found(_percent(_sum(last), _sum(times)), "psutil", "the clock of the CPUs stands still", "%"),
            "cpu.per_core": known(use, "psutil", "%"),
            "cpu.per_tier": self._per_tier(use),
        }

    def _per_tier(self, use: list[float | None]) -> Reading:
        if not self._tiers:
            return missing("the system does not say which CPU belongs to which tier", unit="%")
        rows = [
            {"name": tier["name"], "use": _mean([use[cpu] for cpu in tier["cpus"] if cpu < len(use)])} for tier in self._tiers
        ]
        return known(rows, "psutil", "%")

    def _memory(self) -> dict[str, Reading]:
        if MAC:
            return mac_memory()
        groups = {folder: cgroup.read_group(folder, names) for folder, names in self._memory_files.items()}
        texts = linux.LinuxTexts(meminfo=text_of(Path(linux.MEMINFO)), groups=groups)
        return linux_memory(texts)


def linux_memory(texts: linux.LinuxTexts) -> dict[str, Reading]:
    """Used and available within the smaller of machine and control group, and the machine's swap, in bytes."""
    memory = linux.memory(texts)
    limit, available = memory["memory.limit_bytes"], memory["memory.available_bytes"]
    used = known(limit.value - available.value, available.source, "B") if limit.known and available.known else available
    return {"memory.used_bytes": used, "memory.available_bytes": available, "swap.used_bytes": linux.swap_used(texts)}


def mac_memory(run: Callable[[tuple[str, ...]], Text] = output_of) -> dict[str, Reading]:
    """By psutil, or by `vm_stat` and `sysctl` text where it raises (psutil issue 2853, on macOS 27)."""
    memory, swap = _guarded(psutil.virtual_memory), _guarded(psutil.swap_memory)
    if isinstance(memory, str):
        used, available = _mac_memory_by_text(memory, run)
    else:
        used = known(int(memory.total - memory.available), "psutil", "B")
        available = known(int(memory.available), "psutil", "B")
    swap_used = _mac_swap_by_text(swap, run) if isinstance(swap, str) else known(int(swap.used), "psutil", "B")
    return {"memory.used_bytes": used, "memory.available_bytes": available, "swap.used_bytes": swap_used}


def _mac_memory_by_text(failure: str, run: Callable[[tuple[str, ...]], Text]) -> tuple[Reading, Reading]:
    total = sysctl.integer(sysctl.parse(run(("/usr/sbin/sysctl", "hw.memsize")).text), "hw.memsize")
    available = vm_stat.available_bytes(run(("/usr/bin/vm_stat",)).text)
    if total is None or available is None:
        return missing(failure, unit="B"), missing(failure, unit="B")
    return known(total - available, "vm_stat", "B"), known(available, "vm_stat", "B")


def _mac_swap_by_text(failure: str, run: Callable[[tuple[str, ...]], Text]) -> Reading:
    used = sysctl.swap_used_bytes(run(("/usr/sbin/sysctl", "vm.swapusage")).text)
    return missing(failure, unit="B") if used is None else known(used, "sysctl vm.swapusage", "B")


def _load_average() -> Reading:
    try:
        return known(list(os.getloadavg()), "getloadavg")
    except OSError:
        return missing("the system gives no load average", "getloadavg")


def _guarded(ask: Callable[[], Any]) -> Any:
    """The answer, or text saying why there is none."""
    try:
        return ask()
    except Exception as error:  # psutil raises RuntimeError, SystemError, OSError and its own
        return f"psutil: {type(error).__name__}: {error}"


def _cpu_times() -> list[tuple[float, float]]:
    """(busy, all) seconds of each CPU since the system started."""
    return [_busy_and_all(times._asdict()) for times in psutil.cpu_times(percpu=True)]


def _busy_and_all(times: dict[str, float]) -> tuple[float, float]:
    total = sum(value for name, value in times.items() if name not in COUNTED_TWICE)
    return total - sum(times.get(name, 0.0) for name in IDLE_FIELDS), total


def _percent(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    passed = after[1] - before[1]
    return round(min(100.0, max(0.0, 100 * (after[0] - before[0]) / passed)), 1) if passed > 0 else None


def _sum(times: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(busy for busy, _ in times), sum(total for _, total in times)


def _mean(values: list[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return round(sum(told) / len(told), 1) if told else None
