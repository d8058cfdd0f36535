"""The path of CUDA, over a faked `torch.cuda`."""

from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import devices
from explorer.training.accelerator import DeviceMemory, open_accelerator
from explorer.training.device_cuda import CudaDevice

GIB = 2**30


class FakeCuda:
    """What two GPUs would do, and what was asked of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.current = 0
        self.waited: list[int] = []
        self.states = [torch.tensor([n], dtype=torch.uint8) for n in range(2)]
        for name in ("set_device", "synchronize", "get_rng_state", "set_rng_state"):
            monkeypatch.setattr(f"torch.cuda.{name}", getattr(self, name))
        monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.backends.cuda.is_built", lambda: True)
        monkeypatch.setattr("torch.cuda.memory_allocated", lambda index: (index + 1) * GIB)
        monkeypatch.setattr("torch.cuda.memory_reserved", lambda index: (index + 2) * GIB)
        monkeypatch.setattr("torch.cuda.mem_get_info", lambda index: (3 * GIB, 80 * GIB))
        monkeypatch.setattr("torch.Tensor.pin_memory", lambda tensor: Pinned(tensor))
        monkeypatch.setattr(devices, "failure_of_first_tensor", lambda kind: "")

    def set_device(self, index: int) -> None:
        self.current = index

    def synchronize(self, index: int) -> None:
        self.waited.append(index)

    def get_rng_state(self, index: int) -> torch.Tensor:
        return self.states[index].clone()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        self.states[index] = state


class Pinned:
    """A tensor in pinned memory, which notes how it is sent."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def to(self, device: str, *, non_blocking: bool) -> tuple[torch.Tensor, str, bool]:
        return self.tensor, device, non_blocking


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    return FakeCuda(monkeypatch)


@pytest.fixture
def device(cuda: FakeCuda, tmp_path: Path) -> CudaDevice:
    opened = open_accelerator(TrainSpec(device="cuda"), QuietReporter(tmp_path), local_rank=1)
    assert isinstance(opened, CudaDevice)
    return opened


def test_a_process_takes_the_gpu_of_its_rank(cuda: FakeCuda, device: CudaDevice) -> None:
    assert (device.name, device.kind, device.reason) == ("cuda:1", "cuda", "CUDA, as asked")
    assert cuda.current == 1
    device.synchronize()
    assert cuda.waited == [1]


def test_more_processes_than_gpus_are_refused(cuda: FakeCuda, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="process 3 of this machine has no GPU of its own, torch sees 2 GPUs") as caught:
        open_accelerator(TrainSpec(device="cuda", processes=3), QuietReporter(tmp_path), local_rank=2)
    assert caught.value.remedy == "use processes 2"


def test_memory_is_allocated_reserved_and_total(device: CudaDevice) -> None:
    assert device.memory() == DeviceMemory(allocated_bytes=2 * GIB, reserved_bytes=3 * GIB, limit_bytes=80 * GIB)


def test_batches_go_through_pinned_memory_without_waiting(device: CudaDevice) -> None:
    tensor, name, non_blocking = device.place(torch.ones(2, dtype=torch.float64))
    assert (tensor.dtype, name, non_blocking) == (torch.float32, "cuda:1", True)


def test_what_lies_elsewhere_is_not_pinned(device: CudaDevice) -> None:
    device.name = "meta"
    assert device.place(torch.ones(2, device="meta")).device.type == "meta"


def test_random_states_go_out_and_come_back(cuda: FakeCuda, device: CudaDevice) -> None:
    states = device.random_state()
    assert set(states) == {"cpu", "cuda"}
    cuda.states[1] = torch.tensor([9], dtype=torch.uint8)
    device.set_random_state(states)
    assert [state.item() for state in cuda.states] == [0, 1]
