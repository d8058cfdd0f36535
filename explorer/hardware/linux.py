"""Readings of a Linux machine from its texts, recorded or read now."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.hardware import cgroup, isa, linux_cpu, linux_topology, lscpu, meminfo, pci
from explorer.hardware.answers import found, known, missing
from explorer.hardware.readers import UNREAD, Text, text_of, tree_of
from explorer.schemas.readings import Reading

CPUINFO, MEMINFO = "/proc/cpuinfo", "/proc/meminfo"
MODEL_FILES = ("/proc/device-tree/model", "/sys/class/dmi/id/product_name")
NO_MODEL = Text("", "neither the device tree nor DMI names this machine")
PRETTY_NAME = re.compile(r'^PRETTY_NAME="?([^"\n]*)"?$', re.MULTILINE)


@dataclass(frozen=True)
class LinuxTexts:
    """What a Linux machine says of itself; `sysfs` and `groups` are `{path: text}` and `{group folder: {file: text}}`."""

    cpuinfo: Text = UNREAD
    meminfo: Text = UNREAD
    lscpu: Text = UNREAD  # only recordings have it: /proc and /sys tell more
    os_release: Text = UNREAD
    model: Text = UNREAD
    sysfs: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    affinity_cpus: int | None = None
    kernel: str = ""


def read() -> LinuxTexts:
    """This machine's texts."""
    return LinuxTexts(
        cpuinfo=text_of(Path(CPUINFO)),
        meminfo=text_of(Path(MEMINFO)),
        os_release=text_of(Path("/etc/os-release")),
        model=next((text for name in MODEL_FILES if (text := text_of(Path(name)))), NO_MODEL),
        sysfs=tree_of(Path("/sys"), (*linux_topology.PATTERNS, *pci.PATTERNS)),
        groups=cgroup.read_groups(),
        affinity_cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        kernel=platform.release(),
    )


def readings(texts: LinuxTexts) -> dict[str, Reading]:
    """Every reading that Linux text can give; the GPU is asked elsewhere."""
    cpu = Processor(texts)
    tpus = pci.tpus(dict(texts.sysfs))
    board = texts.model.text.strip("\0\n ") or linux_cpu.board(texts.cpuinfo.text)
    system = PRETTY_NAME.search(texts.os_release.text)
    return {
        "os.name": found(system[1] if system else "", "/etc/os-release", texts.os_release.reason),
        "os.kernel": found(texts.kernel, "uname", "not recorded"),
        "machine.model": found(board, "device tree or DMI", texts.model.reason),
        "chip.name": found(cpu.name, cpu.source, f"no processor name in {CPUINFO}"),
        "machine.virtual": known("hypervisor" in cpu.flags, CPUINFO) if cpu.flags else missing(texts.cpuinfo.reason),
        "cpu.logical": found(cpu.logical, cpu.source, texts.cpuinfo.reason, "CPUs"),
        "cpu.cores": found(cpu.cores, cpu.source, texts.cpuinfo.reason, "cores"),
        "cpu.tiers": found(cpu.tiers, cpu.source, texts.cpuinfo.reason),
        "cpu.isa": found(isa.of_linux(cpu.flags), cpu.source, "no instruction set of the table in the flags"),
        "cpu.numa_nodes": found(cpu.numa_nodes, "sysfs node", "sysfs shows no NUMA node", "nodes"),
        "cpu.limit": cpu_limit(texts, cpu.logical),
        **memory(texts),
        "tpu": found(tpus, "PCI", "no Google TPU on the PCI bus"),
    }


class Processor:
    """The CPU as /proc and /sys tell it, or as lscpu does where a recording has more CPUs there."""

    def __init__(self, texts: LinuxTexts) -> None:
        self._sysfs = dict(texts.sysfs)
        self._cpus = linux_cpu.parse(texts.cpuinfo.text)
        self._summary = lscpu.parse(texts.lscpu.text)
        self.tiers: list[dict[str, Any]] = linux_topology.tiers(self._sysfs, self._cpus)
        self._use_summary = (self._summary["logical"] or 0) > sum(tier["threads"] for tier in self.tiers)
        if self._use_summary:
            self.tiers = self._summary["tiers"]

    @property
    def source(self) -> str:
        return "lscpu" if self._use_summary else f"{CPUINFO} and sysfs"

    @property
    def logical(self) -> int | None:
        return self._summary["logical"] if self._use_summary else sum(tier["threads"] for tier in self.tiers) or None

    @property
    def cores(self) -> int | None:
        return self._summary["cores"] if self._use_summary else linux_topology.cores(self._sysfs, self._cpus) or None

    @property
    def numa_nodes(self) -> int | None:
        return linux_topology.numa_nodes(self._sysfs) or self._summary["numa_nodes"]

    @cached_property
    def flags(self) -> list[str]:
        """Flags that every CPU has, so that no tier is promised what only another can do."""
        if not self._cpus:
            return list(self._summary["flags"])
        told = [set(cpu.flags) for cpu in self._cpus if cpu.flags]
        return sorted(set.intersection(*told)) if told else []

    @property
    def name(self) -> str:
        parts = dict.fromkeys(cpu.core_name for cpu in reversed(self._cpus) if cpu.core_name)
        return " + ".join(parts) or next((cpu.model for cpu in self._cpus if cpu.model), "") or str(self._summary["model"])


def cpu_limit(texts: LinuxTexts, logical: int | None) -> Reading:
    """CPUs that this process may keep busy: the smallest of the machine's, its affinity and its control group's."""
    limits = cgroup.limits(texts.groups)
    bounds = [
        (logical, "all CPUs of the machine"),
        (texts.affinity_cpus, "CPU affinity of this process"),
        (limits.cpus, f"control group {limits.cpu_group}"),
    ]
    count, source = min(((count, source) for count, source in bounds if count), key=lambda bound: bound[0], default=(None, ""))
    return found(int(count) if count and count == int(count) else count, source, texts.cpuinfo.reason, "CPUs")


def memory(texts: LinuxTexts) -> dict[str, Reading]:
    """Total of the machine; limit and what is available of it as the smaller of machine and control group; swap."""
    sizes, limits = meminfo.parse(texts.meminfo.text), cgroup.limits(texts.groups)
    reason = f"{MEMINFO} does not say: {texts.meminfo.reason}"
    total, free, swap = sizes.get("MemTotal"), sizes.get("MemAvailable"), sizes.get("SwapTotal")
    limit, source = total, MEMINFO
    if limits.memory_bytes is not None and (total is None or limits.memory_bytes < total):
        limit, source = limits.memory_bytes, f"control group {limits.memory_group}"
        if limits.memory_used_bytes is not None:
            left = max(0, limit - limits.memory_used_bytes)
            free = left if free is None else min(free, left)
    return {
        "memory.total_bytes": found(total, MEMINFO, reason, "B"),
        "memory.limit_bytes": found(limit, source, reason, "B"),
        "memory.available_bytes": found(free, source, reason, "B"),
        "swap.total_bytes": found(swap, MEMINFO, reason, "B"),
    }


def swap_used(texts: LinuxTexts) -> Reading:
    """Swap in use on the machine, in bytes."""
    sizes = meminfo.parse(texts.meminfo.text)
    if "SwapTotal" not in sizes or "SwapFree" not in sizes:
        return missing(f"{MEMINFO} does not say: {texts.meminfo.reason}", MEMINFO, "B")
    return known(sizes["SwapTotal"] - sizes["SwapFree"], MEMINFO, "B")
