"""The path of XLA, over a faked `torch_xla`."""

import importlib.machinery
import sys
import types
from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training.accelerator import DeviceMemory, open_accelerator
from explorer.training.device_xla import XlaDevice
from explorer.training.devices import choose


class FakeXla:
    """The modules of torch_xla, and what was asked of them."""

    def __init__(self, device_type: str) -> None:
        self.asked: list[str] = []
        self.seed = 41
        self.package = self._module("torch_xla")
        self.package.device = lambda: torch.device("xla:0")  # type: ignore[attr-defined]
        self.package.sync = lambda wait=False: self.asked.append(f"sync {wait}")  # type: ignore[attr-defined]
        self.model = self._module("torch_xla.core.xla_model")
        self.model.wait_device_ops = lambda: self.asked.append("wait")  # type: ignore[attr-defined]
        self.model.get_memory_info = lambda device: {"bytes_used": 5, "bytes_limit": 16}  # type: ignore[attr-defined]
        self.model.get_rng_state = lambda: self.seed  # type: ignore[attr-defined]
        self.model.set_rng_state = lambda seed: setattr(self, "seed", seed)  # type: ignore[attr-defined]
        self.runtime = self._module("torch_xla.runtime")
        self.runtime.device_type = lambda: device_type  # type: ignore[attr-defined]

    def _module(self, name: str) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        return module


def fake_xla(monkeypatch: pytest.MonkeyPatch, device_type: str) -> FakeXla:
    fake = FakeXla(device_type)
    for module in (fake.package, fake.model, fake.runtime, types.ModuleType("torch_xla.core")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


def test_auto_takes_a_tpu_before_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_xla(monkeypatch, "TPU")
    kind, reason = choose("auto")
    assert kind == "xla"
    assert reason.startswith("XLA (no MPS: ")


@pytest.mark.parametrize(("found", "why"), [("CPU", "torch_xla has only the CPU here"), ("", "torch_xla finds no device")])
def test_auto_passes_xla_by_without_a_tpu(monkeypatch: pytest.MonkeyPatch, found: str, why: str) -> None:
    fake_xla(monkeypatch, found)
    kind, reason = choose("auto")
    assert kind == "cpu"
    assert f"no XLA: {why}" in reason


def test_xla_without_a_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_xla(monkeypatch, "")
    with pytest.raises(ExplorerError, match="device xla is not available: torch_xla finds no device"):
        choose("xla")


def test_a_training_marks_its_steps_and_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = fake_xla(monkeypatch, "TPU")
    device = open_accelerator(TrainSpec(device="xla"), QuietReporter(tmp_path))
    assert isinstance(device, XlaDevice)
    assert (device.name, device.kind) == ("xla:0", "xla")
    device.after_update()
    device.synchronize()
    assert fake.asked == ["sync False", "sync True", "wait"]
    assert device.memory() == DeviceMemory(allocated_bytes=5, reserved_bytes=5, limit_bytes=16)


def test_random_states_go_out_and_come_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = fake_xla(monkeypatch, "TPU")
    device = open_accelerator(TrainSpec(device="xla"), QuietReporter(tmp_path))
    states = device.random_state()
    fake.seed = 0
    device.set_random_state(states)
    assert fake.seed == 41
