"""Training on the CPU, and what the other devices have in common with it."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from explorer.reporter import Reporter
from explorer.training.placing import Placer


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of a device: what tensors hold, what the allocator took from the driver, the most it may take (None: no limit)."""

    allocated_bytes: int
    reserved_bytes: int
    limit_bytes: int | None


class CpuDevice:
    """The `Accelerator` that needs nothing; other devices override what differs."""

    kind = "cpu"

    def __init__(self, name: str, reason: str, report: Reporter) -> None:
        self.name = name
        self.reason = reason
        self.report = report
        self.fallback_operators: list[str] = []
        self._placer = Placer(name, self.transfer, report)

    def synchronize(self) -> None:
        pass

    def memory(self) -> DeviceMemory | None:
        return None

    def place(self, data: Any) -> Any:
        return self._placer.place(data)

    def transfer(self, tensor: torch.Tensor) -> torch.Tensor:
        """One tensor on the device, its type as it is."""
        return tensor.to(self.name)

    def random_state(self) -> dict[str, torch.Tensor]:
        return {"cpu": torch.get_rng_state()}

    def set_random_state(self, states: dict[str, torch.Tensor]) -> None:
        torch.set_rng_state(states["cpu"])

    def watching(self) -> AbstractContextManager[None]:
        return nullcontext()

    def after_update(self) -> None:
        pass
