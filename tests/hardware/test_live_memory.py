"""Memory, pressure and swap: Linux from made-up files, macOS from a libSystem that is made up too."""

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from explorer.hardware import live_mach
from explorer.hardware.live_mach import Mach
from explorer.hardware.live_memory import OWN_BOUNDS, LinuxMemory, MacMemory, pressure
from explorer.hardware.live_source import Readings
from explorer.hardware.readers import Text
from tests.hardware.live_files import tree

PAGE_BYTES = 16384
SILENT = Text("", "no answer")


def stalls(avg10: str) -> str:
    return f"some avg10={avg10} avg60=0.00 avg300=0.00 total=0\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0"


@pytest.mark.parametrize(("avg10", "level"), [("0.00", "normal"), ("0.99", "normal"), ("1.00", "warning"), ("10.00", "critical")])
def test_pressure_by_explorers_own_bounds(avg10: str, level: str) -> None:
    readings = pressure(Text(stalls(avg10), ""), "/proc/pressure/memory")
    assert readings["memory.pressure_percent"].value == float(avg10)
    assert readings["memory.pressure"].value == level
    assert (readings["memory.pressure"].state, readings["memory.pressure"].reason) == ("estimated", OWN_BOUNDS)


def test_a_kernel_without_pressure_information_says_so() -> None:
    readings = pressure(Text("", "/proc/pressure/memory: No such file or directory"), "/proc/pressure/memory")
    assert {reading.state for reading in readings.values()} == {"absent"}
    assert "No such file" in readings["memory.pressure"].reason


def test_the_limiting_group_tells_pressure_and_memory(tmp_path: Path) -> None:
    group = tree(tmp_path / "job", {"memory.max": 1000, "memory.current": 400, "memory.pressure": stalls("12.50")})
    meminfo = "MemTotal: 8 kB\nMemAvailable: 4 kB\nSwapTotal: 6 kB\nSwapFree: 2 kB"
    proc = tree(tmp_path / "proc", {"meminfo": meminfo, "pressure/memory": stalls("0.00")})
    limits = {"memory.max": "1000", "memory.current": "400"}
    readings = LinuxMemory({str(group): limits}, proc)()
    assert readings["memory.used_bytes"].value == 400
    assert readings["swap.used_bytes"].value == 4096
    assert (readings["memory.pressure_percent"].value, readings["memory.pressure"].value) == (12.5, "critical")
    assert str(group) in readings["memory.pressure"].source
    assert LinuxMemory({}, proc)()["memory.pressure"].value == "normal"


def test_places_of_the_kernels_fields() -> None:
    assert live_mach.available_pages(struct.pack("<4I", 100, 7, 50, 9) + bytes(500)) == 150
    assert live_mach.available_pages(b"\x01" * 11) is None
    assert live_mach.swap_used(struct.pack("<3QI?", 2048, 1000, 1048, 16384, True)) == 1048
    assert live_mach.swap_used(b"short") is None


def lib_system(refuse: bool = False) -> Any:
    """A libSystem that fills a larger structure than any released one, and refuses a small buffer as macOS 27 does."""
    answers = {
        b"hw.memsize": struct.pack("<Q", 1000 * PAGE_BYTES),
        b"vm.swapusage": struct.pack("<3QI?3x", 4096, 1024, 3072, PAGE_BYTES, True),
        b"kern.memorystatus_vm_pressure_level": struct.pack("<i", 2),
    }

    def host_page_size(_: int, size: Any) -> int:
        size._obj.value = PAGE_BYTES
        return 0

    def host_statistics64(host: int, flavor: int, buffer: Any, count: Any) -> int:
        assert (host, flavor) == (42, 4)
        if refuse or count._obj.value < 1024:
            return 5
        ctypes.memmove(buffer._obj, struct.pack("<4I", 100, 7, 50, 9), 16)
        count._obj.value = 600
        return 0

    def sysctlbyname(name: bytes, buffer: Any, size: Any, new: None, new_size: int) -> int:
        if refuse:
            return -1
        ctypes.memmove(buffer._obj, answers[name], len(answers[name]))
        size._obj.value = len(answers[name])
        return 0

    functions: list[Callable[..., int]] = [host_page_size, host_statistics64, sysctlbyname]
    return SimpleNamespace(**{call.__name__: call for call in functions}, mach_host_self=lambda: 42)


@pytest.fixture
def broken_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises() -> None:
        raise RuntimeError("array not large enough")

    monkeypatch.setattr(psutil, "virtual_memory", raises)
    monkeypatch.setattr(psutil, "swap_memory", raises)


def commands(command: tuple[str, ...]) -> Text:
    answers = {
        "hw.memsize": "hw.memsize: 1638400000\n",
        "vm.swapusage": "vm.swapusage: total = 2048.00M  used = 1.50M  free = 2046.50M  (encrypted)\n",
        "kern.memorystatus_vm_pressure_level": "kern.memorystatus_vm_pressure_level: 4\n",
        "/usr/bin/vm_stat": "(page size of 16384 bytes)\nPages free: 100.\nPages inactive: 50.\n",
    }
    return Text(answers[command[-1]], "")


def memory_values(readings: Readings) -> list[object]:
    names = ("memory.used_bytes", "memory.available_bytes", "swap.used_bytes", "memory.pressure")
    return [readings[name].value for name in names]


@pytest.mark.usefixtures("broken_psutil")
def test_mac_memory_by_the_kernels_own_calls() -> None:
    readings = MacMemory(Mach(lib_system()), lambda _: SILENT)()
    assert memory_values(readings) == [850 * PAGE_BYTES, 150 * PAGE_BYTES, 3072, "warning"]
    assert readings["memory.used_bytes"].source == "host_statistics64"
    assert readings["memory.pressure_percent"].state == "absent"


@pytest.mark.usefixtures("broken_psutil")
@pytest.mark.parametrize("mach", [None, "refusing"])
def test_mac_memory_falls_back_to_text(mach: str | None) -> None:
    readings = MacMemory(Mach(lib_system(refuse=True)) if mach else None, commands)()
    expected = [1638400000 - 150 * PAGE_BYTES, 150 * PAGE_BYTES, 1.5 * (1 << 20), "critical"]
    assert memory_values(readings) == expected


@pytest.mark.usefixtures("broken_psutil")
def test_mac_memory_that_nothing_tells_is_absent() -> None:
    readings = MacMemory(None, lambda _: SILENT)()
    assert {reading.state for reading in readings.values()} == {"absent"}
    assert "array not large enough" in readings["swap.used_bytes"].reason


def test_mac_memory_by_psutil_where_it_works() -> None:
    readings = MacMemory(Mach(lib_system()), lambda _: SILENT)()
    assert readings["memory.used_bytes"].source == "psutil"
    assert readings["memory.pressure"].value == "warning"


def test_a_system_without_lib_system_raises_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_mach, "LIBRARY", "/none/libSystem.B.dylib")
    with pytest.raises(OSError, match="libSystem"):
        Mach()
