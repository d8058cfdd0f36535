"""Alarms that come when they should, once, and not otherwise."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.reporter import QuietReporter
from explorer.training import memory
from explorer.training.accelerator import DeviceMemory
from explorer.training.alarms import Alarms
from explorer.training.device_cpu import CpuDevice
from explorer.training.memory import MemoryWatch


def titles(folder: Path, loss: Callable[[int], float], steps: int) -> list[str]:
    report = QuietReporter(folder)
    alarms = Alarms(report)
    for start in range(0, steps, 20):
        alarms.losses(start + 20, [loss(step) for step in range(start, start + 20)])
    return [title for _, title in report.findings]


def noise(width: float, seed: int = 0) -> Callable[[], float]:
    chance = random.Random(seed)
    return lambda: chance.lognormvariate(0, width)


@pytest.mark.parametrize("seed", range(5))
def test_a_falling_noisy_loss_raises_none(tmp_path: Path, seed: int) -> None:
    """Down to a hundredth, with spikes to three times its value."""
    shake = noise(0.5, seed)
    assert titles(tmp_path, lambda step: 2.3 * math.exp(-step / 400) * shake(), 1800) == []


def test_a_loss_that_comes_back_up_diverges(tmp_path: Path) -> None:
    shake = noise(0.2)
    assert titles(tmp_path, lambda step: shake() * (2.3 * math.exp(-step / 100) if step < 600 else 2.0), 1000) == [
        "the loss diverges"
    ]


def test_a_loss_that_explodes_from_the_start_diverges(tmp_path: Path) -> None:
    shake = noise(0.2)
    assert "the loss diverges" in titles(tmp_path, lambda step: shake() * (1 + step / 50) ** 2, 600)


def test_one_spike_is_no_divergence(tmp_path: Path) -> None:
    shake = noise(0.2)
    assert titles(tmp_path, lambda step: shake() * (2.3 * math.exp(-step / 300) + (50.0 if step == 500 else 0)), 900) == []


def test_a_loss_that_stands_still_for_long_is_on_a_plateau(tmp_path: Path) -> None:
    shake = noise(0.1)
    assert titles(tmp_path, lambda step: shake() * max(0.5, 2.3 * math.exp(-step / 100)), 4000) == ["the loss is on a plateau"]


def test_an_alarm_is_said_again_only_after_it_cleared(tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    alarms = Alarms(report)
    for step, share in enumerate([0.95, 0.92, 0.87, 0.91, 0.5, 0.95]):
        alarms.memory(step, {"this process": share})
    assert [title for _, title in report.findings] == ["memory of this process is near its limit"] * 2
    assert alarms.raised == [f"memory of this process is near its limit at step {step}" for step in (0, 5)]
    again = Alarms(QuietReporter(tmp_path))
    again.load_state_dict(alarms.state_dict())
    again.memory(6, {"this process": 0.95})
    assert again.raised == alarms.raised


def test_waiting_for_data(tmp_path: Path) -> None:
    alarms = Alarms(QuietReporter(tmp_path))
    alarms.data_share(1, None)
    alarms.data_share(2, 0.4)
    assert alarms.raised == []
    alarms.data_share(3, 0.6)
    assert alarms.raised == ["the training waits for data at step 3"]


def test_a_low_scale_or_many_skipped_steps(tmp_path: Path) -> None:
    alarms = Alarms(QuietReporter(tmp_path))
    alarms.scale(20, 20, 2.0**60)
    alarms.scale(40, 20, 2.0**59)
    alarms.scale(60, 20, 2.0**39)
    alarms.scale(80, 20, 2.0**19)
    assert alarms.raised == []
    alarms.scale(90, 10, 2.0**9)
    assert alarms.raised == ["gradients overflow float16 again and again at step 90"]
    low = Alarms(QuietReporter(tmp_path))
    low.scale(20, 20, 0.5)
    assert len(low.raised) == 1


def test_memory_is_compared_with_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(CpuDevice):
        def memory(self) -> DeviceMemory:
            return DeviceMemory(95, 100, 100)

    monkeypatch.setattr(memory, "memory_limit_bytes", lambda: 1 << 50)
    report = QuietReporter(tmp_path)
    watch = MemoryWatch(report, Full("gpu", "", report))
    shares = watch.read(7)
    assert shares["gpu"] == 0.95
    assert 0 < shares["this process"] < 0.01
    assert report.metrics[0][0] == [7]
    assert report.metrics[0][1]["device_bytes"] == [95.0]
    assert watch.peak_device_bytes == 95


def test_the_limit_is_the_control_groups_where_that_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.hardware.cgroup.read_groups", lambda: {"/group": {"memory.max": "1000000\n"}})
    assert memory.memory_limit_bytes() == 1_000_000
    monkeypatch.setattr("explorer.hardware.cgroup.read_groups", dict)
    assert memory.memory_limit_bytes() > 100_000_000
