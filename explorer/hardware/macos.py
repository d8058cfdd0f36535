"""Readings of a Mac from its texts, recorded or read now."""

import platform
import re
from dataclasses import dataclass
from typing import Any

from explorer.hardware import ioreg, isa, mps, sysctl, system_profiler, vm_stat
from explorer.hardware.answers import found, known, missing
from explorer.hardware.neural_engine import neural_engine, published_bandwidth
from explorer.hardware.readers import UNREAD, Text, outputs_of
from explorer.schemas.readings import Reading

SYSCTL_NAMES = (
    *("hw", "machdep.cpu", "hw.model", "hw.memsize", "hw.nperflevels", "hw.perflevel0.name", "hw.perflevel1.name"),
    *("kern.osproductversion", "kern.osversion", "kern.hv_vmm_present", "sysctl.proc_translated", "vm.swapusage"),
)
COMMANDS = {
    "sysctl": ("/usr/sbin/sysctl", *SYSCTL_NAMES),
    "profile": ("/usr/sbin/system_profiler", "-json", "SPHardwareDataType", "SPDisplaysDataType", "SPMemoryDataType"),
    "neural_engine": ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "H11ANEIn"),
    "gpu": ("/usr/sbin/ioreg", "-a", "-r", "-d", "1", "-c", "AGXAccelerator"),
    "vm_stat": ("/usr/bin/vm_stat",),
}
PRODUCT_VERSION = re.compile(r"^ProductVersion:\s*([\d.]+)", re.MULTILINE)


@dataclass(frozen=True)
class MacTexts:
    """What a Mac says of itself; `machine` is the Python process's architecture."""

    sysctl: Text = UNREAD
    hardware: Text = UNREAD
    displays: Text = UNREAD
    memory: Text = UNREAD
    neural_engine: Text = UNREAD
    gpu: Text = UNREAD
    vm_stat: Text = UNREAD
    sw_vers: Text = UNREAD
    machine: str = ""


def read() -> MacTexts:
    """This Mac's texts; `system_profiler` takes the longest, about 0.3 s."""
    texts = outputs_of(COMMANDS)
    profile = texts.pop("profile")
    return MacTexts(**texts, hardware=profile, displays=profile, memory=profile, machine=platform.machine())


def readings(texts: MacTexts) -> dict[str, Reading]:
    """Every reading that a Mac's text can give."""
    mac = Mac(texts)
    tiers, total = sysctl.tiers(mac.values), mac.memory_bytes
    threads = sum(tier["threads"] for tier in tiers) or sysctl.integer(mac.values, "hw.ncpu")
    cores = sum(tier["cores"] for tier in tiers) or None
    silent = texts.sysctl.reason if not texts.sysctl else "sysctl does not say"
    memory_kind = system_profiler.memory_type(texts.memory.text)
    return {
        "os.name": found(f"macOS {mac.os_version}" if mac.os_version else "", "sysctl or sw_vers", silent),
        "os.build": found(mac.values.get("kern.osversion", ""), "sysctl", silent),
        "machine.model": found(mac.model, "sysctl or system_profiler", silent),
        "machine.virtual": known(mac.virtual, "sysctl") if mac.virtual is not None else missing(silent, "sysctl"),
        "process.rosetta": known(mac.translated, "sysctl") if mac.translated is not None else missing(silent, "sysctl"),
        "chip.name": found(mac.chip, "sysctl or system_profiler", "neither sysctl nor system_profiler names the chip"),
        "cpu.logical": found(threads, "sysctl", silent, "CPUs"),
        "cpu.cores": found(cores, "sysctl", silent, "cores"),
        "cpu.tiers": found(tiers, "sysctl", silent),
        "cpu.isa": found(isa.of_macos(mac.values), "sysctl", silent),
        "cpu.limit": found(threads, "sysctl", silent, "CPUs"),
        "memory.total_bytes": found(total, "sysctl or system_profiler", silent, "B"),
        "memory.limit_bytes": found(total, "sysctl or system_profiler", silent, "B"),
        "memory.available_bytes": found(vm_stat.available_bytes(texts.vm_stat.text), "vm_stat", texts.vm_stat.reason, "B"),
        "memory.type": found(memory_kind, "system_profiler", "system_profiler does not say"),
        "memory.bandwidth": published_bandwidth(mac.chip, mac.gpu_cores),
        "gpu": found(mac.gpus, "system_profiler and ioreg", "neither system_profiler nor ioreg shows a GPU"),
        **neural_engine(texts.neural_engine, mac.chip, bool(mac.virtual)),
        "tpu": missing("no Mac has a TPU"),
        "mps.usable": mps.verdict(mac.mps_facts),
    }


class Mac:
    """Facts that several readings need, each from its best text."""

    def __init__(self, texts: MacTexts) -> None:
        self.values = sysctl.parse(texts.sysctl.text)
        self._hardware = system_profiler.hardware(texts.hardware.text)
        self._sw_vers = PRODUCT_VERSION.search(texts.sw_vers.text)
        self._machine = texts.machine
        self.gpus: list[dict[str, Any]] = system_profiler.gpus(texts.displays.text)
        counted = ioreg.gpu_cores(texts.gpu.text)
        if counted and not self.gpus:
            self.gpus = [{"name": self.chip or "Apple GPU", "cores": None, "memory_bytes": None, "metal": ""}]
        if counted and len(self.gpus) == 1:
            self.gpus[0]["cores"] = counted
        self.gpu_cores: int | None = next((gpu["cores"] for gpu in self.gpus if gpu["cores"]), counted)

    @property
    def chip(self) -> str:
        """A preproduction M1 says "Apple processor" and Rosetta "VirtualApple": then system_profiler knows better."""
        brand, profiled = self.values.get("machdep.cpu.brand_string", ""), str(self._hardware.get("chip_type", ""))
        vague = brand == "Apple processor" or brand.startswith("VirtualApple")
        return profiled if profiled and (vague or not brand) else brand

    @property
    def model(self) -> str:
        return self.values.get("hw.model") or str(self._hardware.get("machine_model", ""))

    @property
    def os_version(self) -> str:
        return self.values.get("kern.osproductversion") or (self._sw_vers[1] if self._sw_vers else "")

    @property
    def memory_bytes(self) -> int | None:
        return sysctl.integer(self.values, "hw.memsize") or system_profiler.memory_bytes(self._hardware)

    @property
    def translated(self) -> bool | None:
        """Whether this process runs under Rosetta; None when nothing tells."""
        flag = sysctl.integer(self.values, "sysctl.proc_translated")
        return flag == 1 if flag is not None else (False if self._machine == "arm64" or self.values else None)

    @property
    def virtual(self) -> bool | None:
        """Whether this is a virtual machine; None when nothing tells."""
        paravirtual = any("Paravirtual" in gpu["name"] for gpu in self.gpus)
        if "(Virtual)" in self.chip or self.model.startswith("VirtualMac") or paravirtual:
            return True
        flag = sysctl.integer(self.values, "kern.hv_vmm_present")
        return None if flag is None else flag == 1

    @property
    def mps_facts(self) -> mps.MpsFacts:
        return mps.MpsFacts("Darwin", self._machine, bool(self.translated), self.os_version, bool(self.virtual))
