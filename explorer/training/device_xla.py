"""Training through XLA, on a TPU. Never ran on one here: tested against a faked `torch_xla`, after its API of 2.9.

XLA gathers operations into a graph and runs it at a mark between steps, which `torch_xla.sync` sets.
"""

import importlib
import importlib.util
from typing import Any

import torch

from explorer.reporter import Reporter
from explorer.training.device_cpu import CpuDevice, DeviceMemory

INSTALL = "install torch_xla of your torch's version, or use device auto or cpu"


class XlaDevice(CpuDevice):
    """The `Accelerator` of the first XLA device."""

    kind = "xla"

    def __init__(self, reason: str, report: Reporter) -> None:
        self._xla: Any = importlib.import_module("torch_xla")
        self._model: Any = importlib.import_module("torch_xla.core.xla_model")
        self._device = self._xla.device()
        super().__init__(str(self._device), reason, report)

    def synchronize(self) -> None:
        self._xla.sync(wait=True)
        self._model.wait_device_ops()

    def memory(self) -> DeviceMemory:
        info = self._model.get_memory_info(self._device)
        return DeviceMemory(
            allocated_bytes=int(info["bytes_used"]), reserved_bytes=int(info["bytes_used"]), limit_bytes=int(info["bytes_limit"])
        )

    def random_state(self) -> dict[str, torch.Tensor]:
        """XLA's state is one number, kept as a tensor."""
        return {**super().random_state(), "xla": torch.tensor(self._model.get_rng_state())}

    def set_random_state(self, states: dict[str, torch.Tensor]) -> None:
        super().set_random_state(states)
        if "xla" in states:
            self._model.set_rng_state(int(states["xla"]))

    def after_update(self) -> None:
        """The mark that ends a step: run what was gathered, without waiting."""
        self._xla.sync()


def installed() -> bool:
    """Whether torch_xla is there; does not import it."""
    return importlib.util.find_spec("torch_xla") is not None


def device_type() -> str:
    """What XLA found, such as "TPU" or "CPU"; empty without a device. Imports torch_xla, which then takes the device."""
    try:
        runtime: Any = importlib.import_module("torch_xla.runtime")
        return str(runtime.device_type() or "")
    except (ImportError, RuntimeError, OSError):
        return ""
