"""Live samples of this machine, and what is said when a system library breaks."""

import time
from types import SimpleNamespace

import psutil
import pytest

from explorer.hardware import linux, live, live_gpu, nvidia
from explorer.hardware.live import Sampler
from explorer.hardware.readers import Text
from explorer.schemas.readings import HardwareSample


def sample_after(sampler: Sampler, seconds: float) -> HardwareSample:
    time.sleep(seconds)
    return sampler.sample()


def test_a_sample_holds_what_the_kernel_says() -> None:
    sampler = Sampler()
    first, second = sample_after(sampler, 0.1), sample_after(sampler, 0.1)
    assert second.time_s > first.time_s
    use = second.readings["cpu.per_core"].value
    assert len(use) == psutil.cpu_count()
    assert all(0 <= value <= 100 for value in [*use, second.readings["cpu.use"].value])
    assert 0 < second.readings["memory.used_bytes"].value < psutil.virtual_memory().total
    assert second.readings["swap.used_bytes"].value == psutil.swap_memory().used
    assert len(second.readings["load.average"].value) == 3


def test_a_busy_core_shows() -> None:
    sampler = Sampler()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
    readings = sampler.sample().readings
    assert max(readings["cpu.per_core"].value) > 15
    tiers = linux.Processor(linux.read()).tiers
    rows = readings["cpu.per_tier"].value
    assert [row["name"] for row in rows] == [tier["name"] for tier in tiers]
    assert max(row["use"] for row in rows) > 5


def test_two_samples_at_once_do_not_invent_a_percentage() -> None:
    sampler = Sampler()
    assert sampler.sample().readings["cpu.use"].state == "pending"
    assert sample_after(sampler, 0.1).readings["cpu.use"].known


def test_a_sample_is_cheap() -> None:
    sampler = Sampler()
    costs = []
    for _ in range(20):
        time.sleep(0.06)
        start = time.thread_time()
        sampler.sample()
        costs.append(time.thread_time() - start)
    assert sorted(costs)[10] < 0.005


def test_no_gpu_is_a_reason_not_zero() -> None:
    none = live_gpu.from_ioreg(Text("", "ioreg printed nothing (exit code 0)"))
    for reading in none.values():
        assert (reading.value, reading.state, reading.reason) == (None, "absent", "ioreg printed nothing (exit code 0)")


def test_psutil_that_raises_leaves_the_other_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(**_: object) -> None:
        raise SystemError("(ipc/mig) array not large enough")

    sampler = Sampler()
    monkeypatch.setattr(psutil, "cpu_times", raises)
    readings = sample_after(sampler, 0.1).readings
    assert readings["cpu.use"].reason == "psutil: SystemError: (ipc/mig) array not large enough"
    assert readings["memory.used_bytes"].known
    monkeypatch.undo()
    assert sample_after(sampler, 0.1).readings["cpu.use"].state == "absent"
    assert sample_after(sampler, 0.1).readings["cpu.use"].known


def test_mac_memory_falls_back_to_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises() -> None:
        raise RuntimeError("array not large enough")

    answers = {
        "hw.memsize": "hw.memsize: 1638400000\n",
        "vm.swapusage": "vm.swapusage: total = 2048.00M  used = 1.50M  free = 2046.50M  (encrypted)\n",
        "/usr/bin/vm_stat": "(page size of 16384 bytes)\nPages free: 100.\nPages inactive: 50.\n",
    }
    monkeypatch.setattr(psutil, "virtual_memory", raises)
    monkeypatch.setattr(psutil, "swap_memory", raises)
    readings = live.mac_memory(lambda command: Text(answers[command[-1]], ""))
    assert readings["memory.available_bytes"].value == 150 * 16384
    assert readings["memory.used_bytes"].value == 1638400000 - 150 * 16384
    assert readings["swap.used_bytes"].value == 1.5 * (1 << 20)
    silent = live.mac_memory(lambda _: Text("", "no answer"))
    assert all(reading.state == "absent" and "array not large enough" in reading.reason for reading in silent.values())


def test_mac_memory_by_psutil() -> None:
    readings = live.mac_memory(lambda _: Text("", "not needed"))
    assert readings["memory.used_bytes"].source == "psutil"


def test_gpu_use_by_the_registry() -> None:
    plist = (
        '<?xml version="1.0"?><plist version="1.0"><array><dict><key>PerformanceStatistics</key><dict>'
        "<key>Device Utilization %</key><integer>37</integer><key>In use system memory</key><integer>4096</integer>"
        "</dict></dict></array></plist>"
    )
    readings = live_gpu.from_ioreg(Text(plist, ""))
    assert (readings["gpu.use"].value, readings["gpu.memory_used_bytes"].value) == (37, 4096)


def test_gpu_use_by_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("Not Supported")

    nvml = SimpleNamespace(
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: b"NVIDIA H200" if handle else "NVIDIA A100",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=1 << 30, used=100 + handle),
        nvmlDeviceGetUtilizationRates=lambda handle: refused(handle) if handle else SimpleNamespace(gpu=40),
        nvmlDeviceGetMigMode=refused,
    )
    monkeypatch.setattr("explorer.hardware.nvidia.start", lambda: nvml)
    monkeypatch.setattr("sys.platform", "linux")
    readings = live_gpu.gpu_sampler()()
    assert (readings["gpu.use"].value, readings["gpu.memory_used_bytes"].value) == (40, 201)
    assert readings["gpu.per_device"].value[1] == {"use_percent": None, "memory_used_bytes": 101}
    gpus = nvidia.reading().value
    assert gpus == [
        {"name": "NVIDIA A100", "cores": None, "memory_bytes": 1 << 30, "mig": None},
        {"name": "NVIDIA H200", "cores": None, "memory_bytes": 1 << 30, "mig": None},
    ]
