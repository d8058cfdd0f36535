"""Recorded machines as the texts that the parsers take."""

from pathlib import Path

from explorer.hardware.linux import LinuxTexts
from explorer.hardware.macos import MacTexts
from explorer.hardware.readers import UNREAD, Text
from explorer.hardware.recorded_linux import flat
from explorer.schemas.readings import Inventory

FOLDER = Path(__file__).parents[1] / "fixtures" / "hardware"


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
        sbc_bench=text(machine, "sbc-bench"),
        sysfs=sysfs(text(machine, "sysfs-flat").text),
    )


def sysfs(lines: str) -> dict[str, str]:
    """From lines of `path:value`."""
    return flat([lines])


def group(machine: str) -> dict[str, str]:
    """A control group's files."""
    return {path.name: path.read_text() for path in (FOLDER / machine).iterdir()}


def values(inventory: Inventory, *names: str) -> list[object]:
    return [inventory.get(name).value for name in names]
