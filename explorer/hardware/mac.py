"""Facts of a Mac that several readings need, each from the best text that has it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from explorer.hardware import core_tiers, ioreg, macmon, memory_pressure, powermetrics, sysctl, system_profiler

if TYPE_CHECKING:
    from explorer.hardware.macos import MacTexts

PRODUCT_VERSION = re.compile(r"^ProductVersion:\s*([\d.]+)", re.MULTILINE)
BUILD_VERSION = re.compile(r"^BuildVersion:\s*(\w+)", re.MULTILINE)
MACHINE = re.compile(r"^(arm64|x86_64)$", re.MULTILINE)
APPLE_SILICON = re.compile(r"Mac\d+,\d+|MacBookAir10,1|MacBookPro1[78],\d|Macmini9,1|iMac21,[12]|VirtualMac\d+,\d+")
SYSCTL, PROFILER = "sysctl", "system_profiler"


class Told(NamedTuple):
    """A value, or None or nothing, and the tool that told it."""

    value: Any
    source: str


class Mac:
    """Each fact is `Told`; the tools of recordings (`powermetrics`, `macmon`) come after the system's own."""

    def __init__(self, texts: MacTexts) -> None:
        self.values = sysctl.parse(texts.sysctl.text)
        self._texts = texts
        self._hardware = system_profiler.hardware(texts.hardware.text)
        self._tools = {
            "powermetrics": powermetrics.parse(texts.powermetrics.text),
            "macmon": macmon.parse(texts.macmon.text),
        }

    @cached_property
    def chip(self) -> Told:
        """A preproduction M1 says "Apple processor" and Rosetta "VirtualApple": then system_profiler knows better."""
        brand, profiled = self.values.get("machdep.cpu.brand_string", ""), str(self._hardware.get("chip_type", ""))
        vague = brand == "Apple processor" or brand.startswith("VirtualApple")
        best = Told(profiled, PROFILER) if profiled and (vague or not brand) else Told(brand, SYSCTL)
        return _first(best, *self._told("chip"))

    @cached_property
    def model(self) -> Told:
        profiled = Told(str(self._hardware.get("machine_model", "")), PROFILER)
        return _first(Told(self.values.get("hw.model", ""), SYSCTL), profiled, *self._told("model"))

    @cached_property
    def os_version(self) -> Told:
        return self._system("kern.osproductversion", PRODUCT_VERSION, "os_version")

    @cached_property
    def build(self) -> Told:
        return self._system("kern.osversion", BUILD_VERSION, "build")

    @cached_property
    def memory_bytes(self) -> Told:
        pressure = Told(memory_pressure.total_bytes(self._texts.memory_pressure.text), "memory_pressure")
        profiled = Told(system_profiler.memory_bytes(self._hardware), PROFILER)
        return _first(Told(sysctl.integer(self.values, "hw.memsize"), SYSCTL), profiled, pressure)

    @cached_property
    def process(self) -> Told:
        """Which processor this process is built for: told, or the chip's own unless it runs under Rosetta."""
        printed = MACHINE.search(self._texts.sw_vers.text)
        told = _first(Told(self._texts.machine, "platform"), Told(printed[1] if printed else "", "recorded beside sw_vers"))
        if told.value:
            return told
        if self.translated.value:
            return Told("x86_64", f"Rosetta, by {self.translated.source}")
        kinds = {"Apple": "arm64", "Intel": "x86_64"}
        return Told(kinds.get(self.chip.value.partition("(")[0].partition(" ")[0], ""), f"the chip's name, by {self.chip.source}")

    @cached_property
    def translated(self) -> Told:
        """Whether this process runs under Rosetta; there, system_profiler names no chip on an Apple silicon model."""
        flag = sysctl.integer(self.values, "sysctl.proc_translated")
        unnamed = self._hardware.get("cpu_type") == "Unknown" and APPLE_SILICON.fullmatch(
            str(self._hardware.get("machine_model"))
        )
        if flag is None and (unnamed or "VirtualApple" in self.values.get("machdep.cpu.brand_string", "")):
            return Told(True, PROFILER if unnamed else SYSCTL)
        if flag is not None:
            return Told(flag == 1, SYSCTL)
        return Told(False if self._texts.machine == "arm64" or self.chip.value else None, self.chip.source)

    @cached_property
    def virtual(self) -> Told:
        """Whether this is a virtual machine; None when nothing tells."""
        if "(Virtual)" in self.chip.value:
            return Told(True, self.chip.source)
        if self.model.value.startswith("VirtualMac"):
            return Told(True, self.model.source)
        if any("Paravirtual" in gpu["name"] for gpu in self._profiled_gpus):
            return Told(True, PROFILER)
        flag = sysctl.integer(self.values, "kern.hv_vmm_present")
        return Told(None if flag is None else flag == 1, SYSCTL)

    @cached_property
    def tiers(self) -> Told:
        """By sysctl's levels, else by a split in words or the tools; one tier of all cores where only their sum is told."""
        levels = sysctl.tiers(self.values)
        counts = str(self._hardware.get("number_processors", ""))
        whole = Told([tier for tier in levels if tier["name"] == "All cores"], SYSCTL)
        split = Told([] if whole.value else levels, SYSCTL)
        profiled = core_tiers.of_profile(counts)
        parts, total = (Told(profiled if (len(profiled) > 1) == several else [], PROFILER) for several in (True, False))
        best = _first(split, parts, *self._told("tiers"), whole, total)
        return Told([dict(tier) for tier in best.value or []], best.source)

    @property
    def caveat(self) -> str:
        """What a cut recording leaves out of the tiers."""
        told = [facts.caveat for name, facts in self._tools.items() if self.tiers.source == name or not self.tiers.value]
        return next(filter(None, told), "")

    @cached_property
    def logical(self) -> Told:
        threads = sum(tier["threads"] for tier in self.tiers.value) if not self.caveat else 0
        return _first(Told(threads or None, self.tiers.source), Told(sysctl.integer(self.values, "hw.ncpu"), SYSCTL))

    @cached_property
    def cores(self) -> Told:
        return Told((sum(tier["cores"] for tier in self.tiers.value) or None) if not self.caveat else None, self.tiers.source)

    @cached_property
    def gpus(self) -> Told:
        """GPUs of system_profiler, the Apple one with its cores by the registry and its top speed by a tool."""
        rows = [dict(gpu) for gpu in self._profiled_gpus]
        counted, speed = ioreg.gpu_cores(self._texts.gpu.text), _first(*self._told("gpu_mhz"))
        sources = [PROFILER] * bool(rows) + ["ioreg"] * bool(counted) + [speed.source] * bool(speed.value)
        if not rows and (counted or speed.value):
            name = self.chip.value if self.chip.value.startswith("Apple") else "Apple GPU"
            rows = [{"name": name, "vendor": "Apple", "cores": None, "memory_bytes": None, "metal": ""}]
        if len(rows) == 1:
            rows[0]["cores"] = counted or rows[0]["cores"]
            rows[0] |= {"max_mhz": speed.value} if speed.value else {}
        return Told(rows, " and ".join(sources))

    @property
    def gpu_cores(self) -> int | None:
        return next((gpu["cores"] for gpu in self.gpus.value if gpu["cores"]), None)

    @cached_property
    def _profiled_gpus(self) -> list[dict[str, Any]]:
        return system_profiler.gpus(self._texts.displays.text)

    def _told(self, field: str) -> list[Told]:
        return [Told(getattr(facts, field), name) for name, facts in self._tools.items()]

    def _system(self, key: str, line: re.Pattern[str], field: str) -> Told:
        printed = line.search(self._texts.sw_vers.text)
        told = (Told(self.values.get(key, ""), SYSCTL), Told(printed[1] if printed else "", "sw_vers"))
        return _first(*told, *self._told(field))


def _first(*told: Told) -> Told:
    """The first that has a value; else the first, which has none."""
    return next((item for item in told if item.value), told[0])
