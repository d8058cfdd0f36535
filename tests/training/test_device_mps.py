"""The path of MPS, over a faked `torch.mps`."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import devices
from explorer.training.accelerator import DeviceMemory, open_accelerator
from explorer.training.device_mps import HIGH_WATERMARK, MpsDevice

GIB = 2**30
# As torch 2.13 says it (aten/src/ATen/mps/MPSFallback.mm).
FELL_BACK = (
    "The operator 'aten::{}' is not currently supported on the MPS backend and will fall back to run on the CPU. "
    "This may have performance implications."
)


class FakeMps:
    """What `torch.mps` would do, and what was asked of it."""

    def __init__(self) -> None:
        self.waits = 0
        self.state = torch.tensor([1, 2, 3], dtype=torch.uint8)

    def synchronize(self) -> None:
        self.waits += 1

    def get_rng_state(self) -> torch.Tensor:
        return self.state.clone()

    def set_rng_state(self, state: torch.Tensor) -> None:
        self.state = state

    def current_allocated_memory(self) -> int:
        return GIB

    def driver_allocated_memory(self) -> int:
        return 2 * GIB

    def recommended_max_memory(self) -> int:
        return 10 * GIB


@pytest.fixture
def mps(monkeypatch: pytest.MonkeyPatch) -> FakeMps:
    fake = FakeMps()
    monkeypatch.setattr(torch, "mps", fake)
    monkeypatch.setattr("torch.backends.mps.is_built", lambda: True)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
    monkeypatch.setattr(devices, "failure_of_first_tensor", lambda kind: "")
    monkeypatch.delenv(HIGH_WATERMARK, raising=False)
    return fake


@pytest.fixture
def report(tmp_path: Path) -> QuietReporter:
    return QuietReporter(tmp_path)


@pytest.fixture
def device(mps: FakeMps, report: QuietReporter) -> MpsDevice:
    opened = open_accelerator(TrainSpec(), report)
    assert isinstance(opened, MpsDevice)
    return opened


def test_auto_opens_it(device: MpsDevice) -> None:
    assert (device.name, device.kind, device.reason) == ("mps", "mps", "MPS")


def test_it_waits_through_synchronize_alone(mps: FakeMps, device: MpsDevice) -> None:
    """The fake has no Event, whose use would fail here."""
    device.synchronize()
    device.after_update()
    assert mps.waits == 1


@pytest.mark.parametrize(("ratio", "limit"), [(None, 17 * GIB), ("0.5", 5 * GIB), ("0", None), ("much", 17 * GIB)])
def test_the_limit_is_the_high_watermark_of_what_metal_recommends(
    monkeypatch: pytest.MonkeyPatch, mps: FakeMps, report: QuietReporter, ratio: str | None, limit: int | None
) -> None:
    if ratio is not None:
        monkeypatch.setenv(HIGH_WATERMARK, ratio)
    memory = open_accelerator(TrainSpec(device="mps"), report).memory()
    assert memory == DeviceMemory(allocated_bytes=GIB, reserved_bytes=2 * GIB, limit_bytes=limit)


def test_random_states_go_out_and_come_back(mps: FakeMps, device: MpsDevice) -> None:
    states = device.random_state()
    assert set(states) == {"cpu", "mps"}
    mps.state = torch.zeros(3, dtype=torch.uint8)
    drawn = torch.rand(2)
    device.set_random_state(states)
    assert mps.state.tolist() == [1, 2, 3]
    assert torch.equal(torch.rand(2), drawn)
    device.set_random_state({"cpu": states["cpu"]})
    assert mps.state.tolist() == [1, 2, 3]


def test_float64_is_narrowed_before_it_reaches_the_device(device: MpsDevice, report: QuietReporter) -> None:
    reached: list[torch.dtype] = []
    device.name = "meta"
    inputs, targets = device.place((np.ones((2, 3)), torch.ones(2, dtype=torch.float64)))
    reached += [inputs.dtype, targets.dtype]
    assert reached == [torch.float32, torch.float32]
    assert inputs.device.type == "meta"
    assert report.messages == ["float64 data trains as float32"]


def test_operators_left_to_the_cpu_are_said_once_each(device: MpsDevice, report: QuietReporter) -> None:
    with device.watching():
        for _ in range(3):
            for name in ("aten::_linalg_svd", "aten::nonzero"):
                warnings.warn(FELL_BACK.replace("aten::{}", name), UserWarning, stacklevel=1)
    assert device.fallback_operators == ["aten::_linalg_svd", "aten::nonzero"]
    assert report.findings == [
        ("warning", "aten::_linalg_svd runs on the CPU, MPS lacks it"),
        ("warning", "aten::nonzero runs on the CPU, MPS lacks it"),
    ]


def test_other_warnings_are_left_alone(device: MpsDevice, report: QuietReporter) -> None:
    with pytest.warns(UserWarning, match="something else"), device.watching():
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert report.findings == []


def test_torch_names_every_operator_only_while_watching(device: MpsDevice) -> None:
    """torch warns of the first operator of a process alone unless it warns always."""
    assert not torch.is_warn_always_enabled()
    with device.watching():
        assert torch.is_warn_always_enabled()
    assert not torch.is_warn_always_enabled()
