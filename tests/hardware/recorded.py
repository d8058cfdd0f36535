"""Recorded machines as the texts that the parsers take."""

import re
from pathlib import Path

from explorer.hardware.linux import LinuxTexts
from explorer.hardware.macos import MacTexts
from explorer.hardware.readers import UNREAD, Text
from explorer.schemas.readings import Inventory

FOLDER = Path(__file__).parents[1] / "fixtures" / "hardware"
SBC_BENCH_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+\d+\s+\d+\s+(\d+)\s+(.+)$", re.MULTILINE)


def text(machine: str, beginning: str) -> Text:
    """The first file of a machine whose name begins so; unread when it has none."""
    files = sorted((FOLDER / machine).glob(beginning + "*"))
    return Text(files[0].read_text(), "") if files else UNREAD


def mac(machine: str, process: str = "arm64", **extra: Text) -> MacTexts:
    texts = {
        "sysctl": text(machine, "sysctl"),
        "hardware": text(machine, "SPHardwareDataType.json"),
        "displays": text(machine, "SPDisplaysDataType"),
        "memory": text(machine, "SPMemoryDataType"),
        "sw_vers": text(machine, "sw_vers"),
    }
    return MacTexts(**{**texts, **extra}, machine=process)


def linux(machine: str) -> LinuxTexts:
    return LinuxTexts(
        cpuinfo=text(machine, "proc-cpuinfo"),
        meminfo=text(machine, "proc-meminfo"),
        lscpu=text(machine, "lscpu"),
        sysfs=sysfs(text(machine, "sysfs-flat").text),
    )


def sysfs(flat: str) -> dict[str, str]:
    """From lines of `path:value`."""
    return {path: value for line in flat.splitlines() for path, found, value in [line.partition(":")] if found}


def sysfs_of_sbc_bench(table: str, atom: str) -> dict[str, str]:
    """The sysfs files behind sbc-bench's table of an Intel hybrid: top speeds, and which CPUs are atoms."""
    rows = [(int(row[1]), int(row[2]), row[3].strip()) for row in SBC_BENCH_ROW.finditer(table)]
    files = {f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": str(mhz * 1000) for cpu, mhz, _ in rows}
    atoms = [cpu for cpu, _, name in rows if name == atom]
    return {**files, "/sys/devices/cpu_atom/cpus": f"{atoms[0]}-{atoms[-1]}"}


def group(machine: str) -> dict[str, str]:
    """A control group's files."""
    return {path.name: path.read_text() for path in (FOLDER / machine).iterdir()}


def values(inventory: Inventory, *names: str) -> list[object]:
    return [inventory.get(name).value for name in names]
