"""Live readings of this machine, put together from their sources."""

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence

from explorer.hardware import linux, live_ane, live_cpu, live_gpu, live_memory, live_power, live_thermal, sysctl
from explorer.hardware.answers import missing
from explorer.hardware.live_clock import NOT_ON_MAC, LinuxClock, NoClock
from explorer.hardware.live_mach import Mach
from explorer.hardware.live_source import Readings, SlowSource, Source, guarded
from explorer.hardware.live_tiers import of_linux, of_mac
from explorer.hardware.readers import output_of
from explorer.schemas.readings import HardwareSample

LiveSource = Callable[[], Readings]
MAC_FACTS = ("/usr/sbin/sysctl", "hw", "machdep.cpu.brand_string")


class Sampler:
    """Use since its own previous sample: one caller at a time, from any thread.

    Making one may take some 0.1 s (topology): do it in a thread. A sample costs milliseconds, and a source that hangs
    costs its own readings only.
    """

    def __init__(self, sources: Sequence[LiveSource] | None = None) -> None:
        if sources is None:
            sources = mac_sources() if sys.platform == "darwin" else linux_sources()
        self._sources = sources

    def sample(self) -> HardwareSample:
        """Live readings now; use in percent is the mean since the previous sample or the start."""
        now_s, readings = time.monotonic(), Readings()
        for source in self._sources:
            readings.update(source())
        return HardwareSample(time_s=now_s, readings=readings)


def linux_sources() -> list[LiveSource]:
    """Every source of a Linux machine; only NVML can hang, in its driver."""
    facts = linux.readings(linux.read())
    tiers, virtual = of_linux(facts["cpu.tiers"].value or ()), facts["machine.virtual"].value is True
    return [
        Source(live_cpu.CpuSource(tiers, LinuxClock(tiers, virtual=virtual)), live_cpu.UNITS),
        Source(live_cpu.load_average, {"load.average": ""}),
        Source(live_memory.LinuxMemory(), live_memory.UNITS),
        SlowSource(Source(live_gpu.LinuxGpus(), live_gpu.UNITS), "the GPU"),
        Source(live_thermal.LinuxTemperature(virtual=virtual), live_thermal.UNITS),
        Source(live_power.Rapl(virtual=virtual), live_power.RAPL_UNITS),
        Source(lambda: {"ane.state": missing(live_power.NO_ANE)}, live_ane.UNITS),
    ]


def mac_sources() -> list[LiveSource]:
    """Every source of a Mac; those that may run a command have threads of their own."""
    values = sysctl.parse(output_of(MAC_FACTS).text)
    tiers = of_mac(sysctl.tiers(values), os.cpu_count() or 0, values.get("machdep.cpu.brand_string", ""))
    mach, thermal = guarded(Mach, "libSystem"), guarded(live_thermal.MacThermal, "libobjc")
    memory = live_memory.MacMemory(None if isinstance(mach, str) else mach)
    energy = live_power.AppleEnergy() if platform.machine() == "arm64" else _no_apple_chip
    return [
        Source(live_cpu.CpuSource(tiers, NoClock(NOT_ON_MAC)), live_cpu.UNITS),
        Source(live_cpu.load_average, {"load.average": ""}),
        SlowSource(Source(memory, live_memory.UNITS), "the memory"),
        SlowSource(Source(live_gpu.mac_gpu, live_gpu.MAC_UNITS), "ioreg"),
        Source(_absent(thermal) if isinstance(thermal, str) else thermal, live_thermal.UNITS),
        SlowSource(Source(energy, live_power.MAC_UNITS), "zeus-apple-silicon"),
        SlowSource(Source(live_ane.mac_ane, live_ane.UNITS), "ioreg"),
    ]


def _absent(reason: str) -> LiveSource:
    return lambda: dict.fromkeys(live_thermal.UNITS, missing(reason))


def _no_apple_chip() -> Readings:
    return dict.fromkeys(live_power.MAC_UNITS, missing("no Apple chip, or Python runs under Rosetta", unit="W"))
