"""Training on an NVIDIA GPU. Never ran on one here: tested against a faked `torch.cuda`."""

import torch

from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.training.device_cpu import CpuDevice, DeviceMemory


class CudaDevice(CpuDevice):
    """The `Accelerator` of one GPU, the process's current device from here on."""

    kind = "cuda"

    def __init__(self, reason: str, report: Reporter, index: int) -> None:
        count = torch.cuda.device_count()
        if index >= count:
            gpus = "one GPU" if count == 1 else f"{count} GPUs"
            raise ExplorerError(
                f"process {index + 1} of this machine has no GPU of its own, torch sees {gpus}", f"use processes {max(count, 1)}"
            )
        torch.cuda.set_device(index)
        super().__init__(f"cuda:{index}", reason, report)
        self._index = index
        self._total_bytes = torch.cuda.mem_get_info(index)[1]

    def synchronize(self) -> None:
        torch.cuda.synchronize(self._index)

    def memory(self) -> DeviceMemory:
        return DeviceMemory(
            allocated_bytes=torch.cuda.memory_allocated(self._index),
            reserved_bytes=torch.cuda.memory_reserved(self._index),
            limit_bytes=self._total_bytes,
        )

    def transfer(self, tensor: torch.Tensor) -> torch.Tensor:
        """Through pinned memory, so that the copy goes on while Python does; torch keeps that memory until it is done."""
        if tensor.device.type != "cpu":
            return tensor.to(self.name)
        return tensor.pin_memory().to(self.name, non_blocking=True)

    def random_state(self) -> dict[str, torch.Tensor]:
        return {**super().random_state(), "cuda": torch.cuda.get_rng_state(self._index)}

    def set_random_state(self, states: dict[str, torch.Tensor]) -> None:
        super().set_random_state(states)
        if "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"], self._index)
