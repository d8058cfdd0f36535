"""Live GPU readings: NVML, AMD and Intel by files of the kernel, and the Mac's IORegistry."""

import plistlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.hardware import live_ane, live_gpu, nvidia
from explorer.hardware.live_gpu import LinuxGpus
from explorer.hardware.readers import Text
from tests.hardware.live_files import tree

CARD = "class/drm/card1/device"


def refused(*_: object) -> Any:
    raise RuntimeError("Not Supported")


def nvml(**functions: Any) -> SimpleNamespace:
    known = {
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=1 << 30, used=100 + handle),
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=40 + handle * 20),
        "nvmlDeviceGetPowerUsage": lambda handle: 65_250,
        "nvmlDeviceGetTemperature": lambda handle, sensor: 50 + sensor,
        "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1980}[kind],
        "nvmlDeviceGetMigMode": refused,
    }
    return SimpleNamespace(**{**known, **functions})


def no_nvml() -> None:
    raise nvidia.NvmlAbsent("NVML: NVML Shared Library Not Found")


def test_nvml_rows_have_power_heat_and_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "start", nvml)
    readings = LinuxGpus()()
    assert (readings["gpu.use"].value, readings["gpu.memory_used_bytes"].value) == (50, 201)
    assert readings["power.gpu"].value == 130.4
    row = {"use_percent": 60, "memory_used_bytes": 101, "power_w": 65.2, "temperature_c": 50, "mhz": 1980}
    assert readings["gpu.per_device"].value[1] == row


def test_refused_fields_are_none_and_power_is_not_a_part_of_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    silent_power = nvml(nvmlDeviceGetPowerUsage=lambda handle: 0 if handle else 60_000, nvmlDeviceGetClockInfo=refused)
    monkeypatch.setattr(nvidia, "start", lambda: silent_power)
    readings = LinuxGpus()()
    assert [row["power_w"] for row in readings["gpu.per_device"].value] == [60, None]
    assert readings["gpu.per_device"].value[0]["mhz"] is None
    assert (readings["power.gpu"].state, readings["power.gpu"].value) == ("absent", None)
    assert "not reported by this system" in readings["power.gpu"].reason


def test_a_gpu_split_by_mig_says_why_its_use_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    split = nvml(nvmlDeviceGetUtilizationRates=refused, nvmlDeviceGetMigMode=lambda handle: (1, 1))
    monkeypatch.setattr(nvidia, "start", lambda: split)
    reading = LinuxGpus()()["gpu.use"]
    assert (reading.value, reading.reason) == (None, live_gpu.MIG_REASON)


def test_amd_by_the_files_of_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "start", no_nvml)
    files: dict[str, object] = {"vendor": "0x1002", "gpu_busy_percent": 71, "mem_info_vram_used": 4096}
    files |= {"hwmon/hwmon3/power1_average": 42_000_000, "hwmon/hwmon3/temp1_input": 61_000}
    root = tree(tmp_path, {f"{CARD}/{name}": text for name, text in files.items()})
    tree(tmp_path, {f"class/drm/card1-DP-1/device/{name}": files[name] for name in ("vendor", "gpu_busy_percent")})
    readings = LinuxGpus(root)()
    row = {"use_percent": 71, "memory_used_bytes": 4096, "power_w": 42, "temperature_c": 61, "mhz": None}
    assert readings["gpu.per_device"].value == [row]
    assert (readings["gpu.use"].value, readings["gpu.use"].source, readings["power.gpu"].value) == (71, "amdgpu sysfs", 42)
    (root / CARD / "gpu_busy_percent").unlink()
    assert LinuxGpus(root)()["gpu.use"].reason == "amdgpu sysfs does not tell"


def test_intel_is_detected_and_says_why_it_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "start", no_nvml)
    root = tree(tmp_path, {f"{CARD}/vendor": "0x8086"})
    (tmp_path / "xe").mkdir()
    (root / CARD / "driver").symlink_to(tmp_path / "xe")
    readings = LinuxGpus(root)()
    assert readings["gpu.use"].reason == "Intel GPU: xe gives its use only to root (perf)"
    assert readings["gpu.use"].value is None


def test_no_gpu_is_a_reason_not_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "start", no_nvml)
    readings = LinuxGpus(tmp_path)()
    assert {reading.value for reading in readings.values()} == {None}
    assert readings["gpu.use"].reason == "no NVIDIA GPU (NVML: NVML Shared Library Not Found)"
    monkeypatch.setattr(nvidia, "start", lambda: nvml(nvmlDeviceGetCount=lambda: 0))
    assert LinuxGpus(tmp_path)()["gpu.use"].reason == "NVML shows no GPU"


def plist(**properties: object) -> Text:
    return Text(plistlib.dumps([properties]).decode(), "")


def test_gpu_use_by_the_registry() -> None:
    statistics = {"Device Utilization %": 37, "In use system memory": 4096}
    readings = live_gpu.mac_gpu(lambda _: plist(PerformanceStatistics=statistics))
    assert (readings["gpu.use"].value, readings["gpu.memory_used_bytes"].value) == (37, 4096)
    silent = live_gpu.mac_gpu(lambda _: Text("", "ioreg gave no answer within 1 s"))
    assert {(reading.value, reading.reason) for reading in silent.values()} == {(None, "ioreg gave no answer within 1 s")}


@pytest.mark.parametrize(("level", "word"), [(0, "idle"), (1, "on"), (2, "on")])
def test_the_neural_engine_is_on_or_idle(level: int, word: str) -> None:
    reading = live_ane.mac_ane(lambda _: plist(IOPowerManagement={"CurrentPowerState": level}))["ane.state"]
    assert (reading.value, reading.unit) == (word, "")


def test_one_engine_of_two_that_is_on_counts() -> None:
    nodes = [{"IOPowerManagement": {"CurrentPowerState": level}} for level in (0, 1)]
    assert live_ane.state(Text(plistlib.dumps(nodes).decode(), "")).value == "on"


def test_a_neural_engine_without_a_state_is_not_idle() -> None:
    assert live_ane.state(plist(IOPowerManagement="broken")).reason == "the Neural Engine tells no power state"
    assert live_ane.state(Text("", "ioreg printed nothing (exit code 0)")).state == "absent"
