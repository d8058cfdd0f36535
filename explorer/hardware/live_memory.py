"""Live memory, memory pressure and swap."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from explorer.hardware import cgroup, linux, sysctl, vm_stat
from explorer.hardware.answers import estimated, found, known, missing
from explorer.hardware.live_mach import Mach
from explorer.hardware.live_source import Readings, guarded
from explorer.hardware.readers import Text, output_of, text_of
from explorer.schemas.readings import Reading

UNITS = {
    "memory.used_bytes": "B",
    "memory.available_bytes": "B",
    "memory.pressure": "",
    "memory.pressure_percent": "%",
    "swap.used_bytes": "B",
}
SOME_AVG10 = re.compile(r"^some avg10=([0-9]{1,3}(?:\.[0-9]{1,3})?) ", re.MULTILINE)
# No kernel names levels of stalls: these bounds are explorer's own.
WARNING_PERCENT, CRITICAL_PERCENT = 1.0, 10.0
OWN_BOUNDS = (
    f"explorer's own bounds: warning from {WARNING_PERCENT:g} % of the time stalled, critical from {CRITICAL_PERCENT:g} %"
)
# dispatch/source.h, DISPATCH_MEMORYPRESSURE_NORMAL, _WARN and _CRITICAL
MAC_LEVELS = {1: "normal", 2: "warning", 4: "critical"}
PRESSURE_KEY = "kern.memorystatus_vm_pressure_level"
Run = Callable[[tuple[str, ...]], Text]


class LinuxMemory:
    """Memory within the smaller of machine and control group; reads only the files that move."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]] | None = None, proc: Path = Path("/proc")) -> None:
        groups = cgroup.read_groups() if groups is None else groups
        self._files = {folder: [name for name in files if name.startswith("memory.")] for folder, files in groups.items()}
        limiting = Path(cgroup.limits(groups).memory_group or "/none") / "memory.pressure"
        self._pressure = limiting if limiting.exists() else proc / "pressure/memory"
        self._meminfo = proc / "meminfo"

    def __call__(self) -> Readings:
        """All of `UNITS`."""
        groups = {folder: cgroup.read_group(folder, names) for folder, names in self._files.items() if names}
        texts = linux.LinuxTexts(meminfo=text_of(self._meminfo), groups=groups)
        return {**linux_memory(texts), **pressure(text_of(self._pressure), str(self._pressure))}


def linux_memory(texts: linux.LinuxTexts) -> Readings:
    """Used and available within the smaller of machine and control group, and the machine's swap, in bytes."""
    memory = linux.memory(texts)
    limit, available = memory["memory.limit_bytes"], memory["memory.available_bytes"]
    used = known(limit.value - available.value, available.source, "B") if limit.known and available.known else available
    return {"memory.used_bytes": used, "memory.available_bytes": available, "swap.used_bytes": linux.swap_used(texts)}


def pressure(text: Text, source: str) -> Readings:
    """From pressure stall information: part of the last 10 s in which some task waited for memory.

    Format: kernel Documentation/accounting/psi.rst.
    """
    match = SOME_AVG10.search(text.text)
    if match is None:
        reason = f"no pressure stall information ({text.reason})"
        return {"memory.pressure": missing(reason, source), "memory.pressure_percent": missing(reason, source, "%")}
    percent = float(match[1])
    level = "normal" if percent < WARNING_PERCENT else "warning" if percent < CRITICAL_PERCENT else "critical"
    return {
        "memory.pressure": estimated(level, source, reason=OWN_BOUNDS),
        "memory.pressure_percent": known(percent, f"{source} some avg10", "%"),
    }


class MacMemory:
    """By psutil, by the kernel's own calls where it raises (psutil issue 2853), and by command texts where those fail too."""

    def __init__(self, mach: Mach | None = None, run: Run = output_of) -> None:
        self._mach = mach
        self._run = run

    def __call__(self) -> Readings:
        """All of `UNITS`; macOS gives a level of pressure and no percentage."""
        memory, swap = guarded(psutil.virtual_memory), guarded(psutil.swap_memory)
        if isinstance(memory, str):
            used, available = self._memory_without_psutil(memory)
        else:
            used = known(int(memory.total - memory.available), "psutil", "B")
            available = known(int(memory.available), "psutil", "B")
        return {
            "memory.used_bytes": used,
            "memory.available_bytes": available,
            "memory.pressure": self._pressure(),
            "memory.pressure_percent": missing("macOS gives a level of pressure, no percentage", unit="%"),
            "swap.used_bytes": self._swap_without_psutil(swap) if isinstance(swap, str) else known(int(swap.used), "psutil", "B"),
        }

    def _memory_without_psutil(self, failure: str) -> tuple[Reading, Reading]:
        source = "host_statistics64"
        total, available = (self._mach.total_bytes(), self._mach.available_bytes()) if self._mach else (None, None)
        if total is None or available is None:
            source, total = "vm_stat", sysctl.integer(self._sysctl("hw.memsize"), "hw.memsize")
            available = vm_stat.available_bytes(self._run(("/usr/bin/vm_stat",)).text)
        if total is None or available is None:
            return missing(failure, unit="B"), missing(failure, unit="B")
        return known(total - available, source, "B"), known(available, source, "B")

    def _swap_without_psutil(self, failure: str) -> Reading:
        used = self._mach.swap_used_bytes() if self._mach else None
        if used is None:
            used = sysctl.swap_used_bytes(self._run(("/usr/sbin/sysctl", "vm.swapusage")).text)
        return found(used, "sysctl vm.swapusage", failure, "B")

    def _pressure(self) -> Reading:
        level = self._mach.pressure_level() if self._mach else None
        if level is None:
            level = sysctl.integer(self._sysctl(PRESSURE_KEY), PRESSURE_KEY)
        reason = "sysctl does not say" if level is None else f"level {level} has no name"
        return found(MAC_LEVELS.get(level or 0), f"sysctl {PRESSURE_KEY}", reason)

    def _sysctl(self, key: str) -> dict[str, str]:
        return sysctl.parse(self._run(("/usr/sbin/sysctl", key)).text)
