"""Readings of a Mac from its texts, recorded or read now."""

import platform
from dataclasses import dataclass

from explorer.hardware import isa, mps, sysctl, system_profiler, vm_stat
from explorer.hardware.answers import found, missing
from explorer.hardware.mac import Mac
from explorer.hardware.neural_engine import neural_engine, published_bandwidth
from explorer.hardware.readers import UNREAD, Text, outputs_of
from explorer.schemas.readings import Reading

SYSCTL_NAMES = (
    *("hw", "machdep.cpu", "hw.model", "hw.memsize", "hw.nperflevels", "hw.perflevel0.name", "hw.perflevel1.name"),
    *("hw.perflevel2.name", "kern.osproductversion", "kern.osversion", "kern.osrelease", "kern.hv_vmm_present"),
    *("sysctl.proc_translated", "vm.swapusage"),
)
COMMANDS = {
    "sysctl": ("/usr/sbin/sysctl", *SYSCTL_NAMES),
    "profile": ("/usr/sbin/system_profiler", "-json", "SPHardwareDataType", "SPDisplaysDataType", "SPMemoryDataType"),
    "neural_engine": ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "H11ANEIn"),
    "gpu": ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "AGXAccelerator"),
    "vm_stat": ("/usr/bin/vm_stat",),
}


@dataclass(frozen=True)
class MacTexts:
    """What a Mac says of itself; `machine` is the Python process's architecture. Only recordings have the last four."""

    sysctl: Text = UNREAD
    hardware: Text = UNREAD
    displays: Text = UNREAD
    memory: Text = UNREAD
    neural_engine: Text = UNREAD
    gpu: Text = UNREAD
    vm_stat: Text = UNREAD
    machine: str = ""
    sw_vers: Text = UNREAD
    memory_pressure: Text = UNREAD
    powermetrics: Text = UNREAD
    macmon: Text = UNREAD


def read() -> MacTexts:
    """This Mac's texts; `system_profiler` takes the longest, about 0.3 s."""
    texts = outputs_of(COMMANDS)
    profile = texts.pop("profile")
    return MacTexts(**texts, hardware=profile, displays=profile, memory=profile, machine=platform.machine())


def readings(texts: MacTexts) -> dict[str, Reading]:
    """Every reading that a Mac's text can give."""
    mac = Mac(texts)
    silent, untold = texts.sysctl.reason, _why(texts.sysctl, texts.hardware)
    system = (f"macOS {mac.os_version.value}" if mac.os_version.value else "", mac.os_version.source)
    return {
        "os.name": found(*system, _why(texts.sysctl, texts.sw_vers)),
        "os.build": found(*mac.build, _why(texts.sysctl, texts.sw_vers)),
        "os.kernel": found(mac.values.get("kern.osrelease", ""), "sysctl", silent),
        "machine.model": found(*mac.model, untold),
        "machine.virtual": found(*mac.virtual, untold),
        "process.machine": found(*mac.process, "nothing tells which processor this process is built for"),
        "process.rosetta": found(*mac.translated, untold),
        "chip.name": found(*mac.chip, f"nothing names the chip: {untold}"),
        **_cpu(mac, silent),
        **_memory(texts, mac, silent),
        "gpu": found(*mac.gpus, f"nothing shows a GPU: {_why(texts.displays, texts.gpu)}"),
        "gpu.driver": missing("Metal comes with macOS"),
        **neural_engine(texts.neural_engine, mac.chip.value, bool(mac.virtual.value)),
        "tpu": missing("no Mac has a TPU"),
        "mps.usable": mps.verdict(mps_facts(mac)),
    }


def _why(*texts: Text) -> str:
    """Why none of the texts told, without those that were never asked for."""
    return "; ".join(dict.fromkeys(text.reason for text in texts if text is not UNREAD)) or UNREAD.reason


def _cpu(mac: Mac, silent: str) -> dict[str, Reading]:
    tiers, sets = mac.tiers, isa.of_macos(mac.values)
    what = mac.caveat or silent
    return {
        "cpu.logical": found(*mac.logical, what, "CPUs"),
        "cpu.cores": found(*mac.cores, what, "cores"),
        "cpu.tiers": found(*tiers, what).model_copy(update={"reason": what}) if mac.caveat else found(*tiers, what),
        "cpu.isa": found(sets, "sysctl", silent),
        "cpu.isa_uses": found(isa.uses(sets), "sysctl", silent),
        "cpu.limit": found(*mac.logical, what, "CPUs"),
        "cpu.numa_nodes": missing("macOS does not tell of NUMA nodes"),
    }


def _memory(texts: MacTexts, mac: Mac, silent: str) -> dict[str, Reading]:
    free, swap = vm_stat.available_bytes(texts.vm_stat.text), sysctl.swap_total_bytes(mac.values.get("vm.swapusage", ""))
    kind = system_profiler.memory_type(texts.memory.text)
    return {
        "memory.total_bytes": found(*mac.memory_bytes, _why(texts.sysctl, texts.hardware), "B"),
        "memory.limit_bytes": found(*mac.memory_bytes, _why(texts.sysctl, texts.hardware), "B"),
        "memory.available_bytes": found(free, "vm_stat", texts.vm_stat.reason, "B"),
        "memory.type": found(kind, "system_profiler", texts.memory.reason),
        "memory.bandwidth": published_bandwidth(mac.chip.value, mac.gpu_cores),
        "swap.total_bytes": found(swap, "sysctl", silent, "B"),
    }


def mps_facts(mac: Mac) -> mps.MpsFacts:
    """What the system rules out before torch is asked."""
    return mps.MpsFacts(
        "Darwin", mac.process.value or "", bool(mac.translated.value), mac.os_version.value, bool(mac.virtual.value)
    )
