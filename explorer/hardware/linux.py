"""Readings of a Linux machine from its texts, recorded or read now."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from explorer.hardware import cgroup, isa, linux_cpu, linux_topology, meminfo, pci
from explorer.hardware.answers import found, known, missing
from explorer.hardware.linux_processor import Processor
from explorer.hardware.readers import UNREAD, Text, text_of, tree_of
from explorer.schemas.readings import Reading

CPUINFO, MEMINFO = "/proc/cpuinfo", "/proc/meminfo"
MODEL_FILES = ("/proc/device-tree/model", "/sys/class/dmi/id/product_name")
NO_MODEL = Text("", "neither the device tree nor DMI names this machine")
PRETTY_NAME = re.compile(r'^PRETTY_NAME="?([^"\n]*)"?$', re.MULTILINE)
VIRTUAL_MODEL = re.compile(r"KVM|QEMU|dummy-virt|VMware|VirtualBox|Virtual Machine|HVM domU|Google Compute Engine")


@dataclass(frozen=True)
class LinuxTexts:
    """What a Linux machine says of itself; `sysfs` and `groups` are `{path: text}` and `{group folder: {file: text}}`.

    Only recordings have `lscpu`, `sbc_bench` and an `excerpt` of /proc/cpuinfo (some of its CPUs): /proc and /sys tell more.
    """

    cpuinfo: Text = UNREAD
    meminfo: Text = UNREAD
    lscpu: Text = UNREAD
    sbc_bench: Text = UNREAD
    os_release: Text = UNREAD
    model: Text = UNREAD
    sysfs: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    affinity_cpus: int | None = None
    kernel: str = ""
    excerpt: bool = False


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
    """Every reading that these texts can give; GPUs and TPUs are read elsewhere."""
    board = texts.model.text.strip("\0\n ") or linux_cpu.board(texts.cpuinfo.text)
    system = PRETTY_NAME.search(texts.os_release.text)
    return {
        "os.name": found(system[1] if system else "", "/etc/os-release", texts.os_release.reason),
        "os.kernel": found(texts.kernel, "uname", "not recorded"),
        "machine.model": found(board, "device tree or DMI", texts.model.reason),
        **cpu(texts, board),
        **memory(texts),
    }


def cpu(texts: LinuxTexts, board: str) -> dict[str, Reading]:
    """The processor's readings, and how much of it this process may use."""
    cpu = Processor(texts.cpuinfo.text, texts.sysfs, texts.lscpu.text, texts.sbc_bench.text, texts.excerpt)
    silent = _silent(texts)
    part = f"{texts.cpuinfo.reason}; it holds one CPU of more" if texts.excerpt and cpu.logical is None else silent
    sets = isa.of_linux(cpu.matrix_flags)
    no_sets = "no instruction set of the table in the flags" if cpu.flags else silent
    answers = {
        "chip.name": found(*cpu.name, f"no processor is named: {silent}"),
        "machine.virtual": _virtual(cpu, board, silent),
        "cpu.logical": found(cpu.logical, cpu.source, part, "CPUs"),
        "cpu.cores": found(cpu.cores, cpu.source, part if cpu.logical is None else f"{cpu.source} does not say", "cores"),
        "cpu.tiers": found(cpu.tiers, cpu.source, silent),
        "cpu.isa": found(sets, cpu.flags_source, no_sets),
        "cpu.isa_uses": found(isa.uses(sets), cpu.flags_source, no_sets),
        "cpu.numa_nodes": found(*cpu.numa_nodes, "sysfs shows no NUMA node", "nodes"),
        "cpu.limit": cpu_limit(texts, cpu.logical, part),
    }
    return _of_one_package(answers) if texts.excerpt else answers


def _of_one_package(answers: dict[str, Reading]) -> dict[str, Reading]:
    counted = [name for name in ("cpu.logical", "cpu.cores", "cpu.tiers", "cpu.limit") if answers[name].known]
    reason = "of one package: the recording holds one of its CPUs"
    return answers | {name: answers[name].model_copy(update={"reason": reason}) for name in counted}


def _silent(texts: LinuxTexts) -> str:
    """Why no text told of the CPUs: the reason of the one that should have."""
    present = [text.reason for text in (texts.cpuinfo, texts.lscpu, texts.sbc_bench) if text]
    return "; ".join(present) or texts.cpuinfo.reason


def _virtual(cpu: Processor, board: str, silent: str) -> Reading:
    """x86 flags tell; on Arm only a hypervisor's own name for the machine does, and its absence says nothing."""
    if cpu.x86:
        return known("hypervisor" in cpu.flags or cpu.summary.virtual is True, cpu.flags_source)
    if cpu.summary.virtual or VIRTUAL_MODEL.search(board):
        return known(True, "lscpu" if cpu.summary.virtual else "device tree or DMI")
    return missing("an Arm CPU does not say whether it is virtual" if cpu.flags else silent)


def cpu_limit(texts: LinuxTexts, logical: int | None, reason: str) -> Reading:
    """CPUs that this process may keep busy: the smallest of the machine's, its affinity and its control group's."""
    limits = cgroup.limits(texts.groups)
    bounds = [
        (logical, "all CPUs of the machine"),
        (texts.affinity_cpus, "CPU affinity of this process"),
        (limits.cpus, f"control group {limits.cpu_group}"),
    ]
    count, source = min(((count, source) for count, source in bounds if count), key=lambda bound: bound[0], default=(None, ""))
    return found(int(count) if count and count == int(count) else count, source, reason, "CPUs")


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
