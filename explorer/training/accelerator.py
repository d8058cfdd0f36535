"""The device that trains: chosen with a reason, and all that a training asks of it."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

from explorer.reporter import Reporter
from explorer.schemas.train_spec import TrainSpec
from explorer.training.device_cpu import CpuDevice
from explorer.training.device_cpu import DeviceMemory as DeviceMemory
from explorer.training.device_cuda import CudaDevice
from explorer.training.device_mps import MpsDevice
from explorer.training.device_xla import XlaDevice
from explorer.training.devices import choose


class Accelerator(Protocol):
    """A device as a training sees it.

    `name` is what torch calls it, `kind` the part before the colon, `reason` why it was chosen. `fallback_operators` grows while
    `watching`: what MPS left to the CPU.
    """

    name: str
    kind: str
    reason: str
    fallback_operators: list[str]

    def synchronize(self) -> None:
        """Wait for all that was asked of the device."""

    def memory(self) -> DeviceMemory | None:
        """What this process holds there; None on the CPU, whose memory is the process's."""
        ...

    def place(self, data: Any) -> Any:
        """Nested tuples, lists and dicts of tensors or numpy arrays, as tensors on the device.

        float64 becomes float32 and complex128 complex64, with one notice a training. Objects with a method `to` move themselves,
        whatever else lies in `data` stays as it is.
        """
        ...

    def random_state(self) -> dict[str, torch.Tensor]:
        """The states of the generators of CPU and device, byte tensors by kind."""
        ...

    def set_random_state(self, states: dict[str, torch.Tensor]) -> None:
        """Put `random_state` back; a kind that is not this device's is left out."""

    def watching(self) -> AbstractContextManager[None]:
        """While in it, operators that MPS leaves to the CPU are gathered, and each is said as a finding once."""
        ...

    def after_update(self) -> None:
        """Called after each update of the weights."""


def open_accelerator(spec: TrainSpec, report: Reporter, local_rank: int = 0) -> Accelerator:
    """The device that `spec` asks for, the GPU of `local_rank` where there are several; raises when it is not there."""
    kind, reason = choose(spec.device, processes=spec.processes * spec.nodes)
    if kind == "mps":
        return MpsDevice(reason, report)
    if kind == "cuda":
        return CudaDevice(reason, report, local_rank)
    return XlaDevice(reason, report) if kind == "xla" else CpuDevice("cpu", reason, report)
