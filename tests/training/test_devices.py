"""Which device is chosen, why, and what is refused; MPS, CUDA and XLA are faked."""

from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import devices
from explorer.training.accelerator import open_accelerator
from explorer.training.devices import choose

NO_MPS = "no MPS: needs macOS 14 or newer on a Mac with a Metal GPU"
NO_CUDA = "no CUDA: no usable GPU or driver"


def available(monkeypatch: pytest.MonkeyPatch, *, mps: bool = False, cuda: bool = False) -> None:
    """Make torch say what it has; the first tensor then always works."""
    for name, module, yes in (("mps", "torch.backends.mps", mps), ("cuda", "torch.cuda", cuda)):
        monkeypatch.setattr(f"torch.backends.{name}.is_built", lambda: True)
        monkeypatch.setattr(f"{module}.is_available", lambda yes=yes: yes)
    monkeypatch.setattr(devices, "failure_of_first_tensor", lambda kind: "")


@pytest.mark.parametrize(
    ("mps", "cuda", "kind", "reason"),
    [
        (True, True, "mps", "MPS"),
        (False, True, "cuda", f"CUDA ({NO_MPS})"),
        (False, False, "cpu", f"the CPU ({NO_MPS}; {NO_CUDA})"),
    ],
)
def test_auto_takes_mps_then_cuda_then_cpu_and_says_why(
    monkeypatch: pytest.MonkeyPatch, mps: bool, cuda: bool, kind: str, reason: str
) -> None:
    available(monkeypatch, mps=mps, cuda=cuda)
    assert choose("auto") == (kind, reason)


def test_a_torch_built_without_devices_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mps", "cuda"):
        monkeypatch.setattr(f"torch.backends.{name}.is_built", lambda: False)
    assert choose("auto")[1] == "the CPU (no MPS: this torch is built without it; no CUDA: this torch is built without it)"


def test_a_device_that_only_claims_to_be_there_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    first_tensor = devices.failure_of_first_tensor
    available(monkeypatch, mps=True)
    monkeypatch.setattr(devices, "failure_of_first_tensor", first_tensor)
    kind, reason = choose("auto")
    assert kind == "cpu"
    assert "no MPS: it fails at its first tensor (" in reason


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    available(monkeypatch)
    with pytest.raises(ExplorerError, match=f"device {device} is not available") as caught:
        choose(device)  # type: ignore[arg-type]
    assert caught.value.remedy == "use device auto or cpu"


def test_xla_without_torch_xla_names_what_to_install() -> None:
    with pytest.raises(ExplorerError, match="device xla is not available: torch_xla is not installed") as caught:
        choose("xla")
    assert caught.value.remedy.startswith("install torch_xla")


def test_the_cpu_can_be_asked_for() -> None:
    assert choose("cpu") == ("cpu", "the CPU, as asked")


def test_several_processes_pass_by_what_cannot_exchange_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    available(monkeypatch, mps=True, cuda=True)
    assert choose("auto", processes=2) == ("cuda", "CUDA (no MPS: gloo and nccl cannot exchange its gradients)")
    with pytest.raises(ExplorerError, match="device mps takes no part in data parallel training"):
        choose("mps", processes=2)


def test_the_cpu_needs_nothing_but_its_random_state(tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    accelerator = open_accelerator(TrainSpec(device="cpu"), report)
    assert (accelerator.name, accelerator.kind, accelerator.reason) == ("cpu", "cpu", "the CPU, as asked")
    assert accelerator.memory() is None
    state = accelerator.random_state()
    drawn = torch.rand(3)
    accelerator.set_random_state(state)
    assert torch.equal(torch.rand(3), drawn)
    accelerator.synchronize()
    accelerator.after_update()
    with accelerator.watching():
        pass
    assert accelerator.fallback_operators == []
