"""Stores this machine's raw outputs under the names that `recorded` reads, without what names the machine or its owner."""

import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.files import written_by_rename
from explorer.hardware import cgroup, device_files, linux, linux_topology, macos, nvidia, pci, redact
from explorer.hardware.readers import output_of, outputs_of, text_of, tree_of

PROC_FILES = {
    "proc-cpuinfo.txt": linux.CPUINFO,
    "proc-meminfo.txt": linux.MEMINFO,
    "os-release.txt": "/etc/os-release",
    "device-tree-model.txt": linux.MODEL_FILES[0],
    "dmi-product_name.txt": linux.MODEL_FILES[1],
    "proc-self-cgroup": "/proc/self/cgroup",
}
PROFILER = macos.COMMANDS["profile"][:2]
MAC_COMMANDS = {
    "sysctl.txt": macos.COMMANDS["sysctl"],
    "SPHardwareDataType.json": (*PROFILER, "SPHardwareDataType"),
    "SPDisplaysDataType.json": (*PROFILER, "SPDisplaysDataType"),
    "SPMemoryDataType.json": (*PROFILER, "SPMemoryDataType"),
    "sw_vers.txt": ("/usr/bin/sw_vers",),
    "vm_stat.txt": macos.COMMANDS["vm_stat"],
    "ioreg-H11ANEIn.plist": macos.COMMANDS["neural_engine"],
    "ioreg-AGXAccelerator.plist": macos.COMMANDS["gpu"],
    "memory_pressure-Q.txt": ("/usr/bin/memory_pressure", "-Q"),
}


def record(folder: Path) -> list[str]:
    """Names of the files written to `folder`, which is made when missing. Raises `ExplorerError` when it holds files already."""
    _check(folder)
    texts = mac_texts() if sys.platform == "darwin" else linux_texts()
    return write(folder, texts, redact.names())


def write(folder: Path, texts: Mapping[str, str], names: redact.Names) -> list[str]:
    """Write the texts that are not empty, redacted."""
    written = []
    for name, text in sorted(texts.items()):
        if text.strip("\0\n "):
            try:
                with written_by_rename(folder / name) as temporary:
                    temporary.write_text(redact.redacted(text, names))
            except OSError as error:
                raise ExplorerError(f"{folder / name} cannot be written ({error.strerror})", "give another folder") from None
            written.append(name)
    return written


def linux_texts() -> dict[str, str]:
    """This Linux machine's outputs by file name."""
    files = {name: text_of(Path(path)).text for name, path in PROC_FILES.items()}
    for command, name in ((("lscpu",), "lscpu.txt"), (nvidia.SMI_COMMAND, "nvidia-smi-q-x.xml")):
        if shutil.which(command[0]):
            files[name] = output_of(("env", "LC_ALL=C", *command)).text
    return {
        **files,
        "kernel-osrelease.txt": platform.release(),
        **limit_files(cgroup.read_groups()),
        "sysfs-flat.txt": flat(tree_of(Path("/sys"), (*linux_topology.PATTERNS, *pci.PATTERNS))),
        "device-files.txt": "\n".join(sorted(device_files.read())),
        "proc-self-mountinfo": _lines("/proc/self/mountinfo", " - cgroup"),
        "proc-self-status.txt": _lines("/proc/self/status", "_allowed_list:"),
    }


def mac_texts() -> dict[str, str]:
    """This Mac's outputs by file name; the processor that this process is built for is told beside `sw_vers`."""
    texts = {name: text.text for name, text in outputs_of(MAC_COMMANDS).items()}
    return {**texts, "sw_vers.txt": f"{texts['sw_vers.txt'].rstrip()}\n{platform.machine()}\n"}


def limit_files(groups: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Files of the groups that limit CPUs and memory most, so that they alone give the same limits."""
    limits = cgroup.limits(groups)
    cpu, memory = groups.get(limits.cpu_group, {}), groups.get(limits.memory_group, {})
    return {
        **{name: text for name, text in cpu.items() if name.startswith("cpu")},
        **{name: text for name, text in memory.items() if name.startswith("memory")},
    }


def flat(sysfs: Mapping[str, str]) -> str:
    """`path:value` lines, one for each line of a file."""
    return "".join(f"{path}:{line}\n" for path, text in sorted(sysfs.items()) for line in text.splitlines())


def _lines(path: str, part: str) -> str:
    """The lines of a file that are read again: the others tell of the user's disks and processes."""
    return "".join(line for line in text_of(Path(path)).text.splitlines(keepends=True) if part in line)


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ExplorerError(f"{folder} is a file", "give a new or an empty folder to record into")
    try:
        full = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise ExplorerError(f"{folder} cannot be read ({error.strerror})", "give another folder") from None
    if full:
        raise ExplorerError(f"{folder} already has files in it", "give a new or an empty folder to record into")
