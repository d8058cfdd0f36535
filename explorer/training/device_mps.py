"""Training on a Mac's GPU through Metal (MPS). Never ran on one here: tested against a faked `torch.mps`.

Waits with `torch.mps.synchronize` alone: elapsed times of `torch.mps.Event` hang or lie in torch 2.13 (pytorch issue 162872).
"""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from explorer.reporter import Reporter
from explorer.training.device_cpu import CpuDevice, DeviceMemory

HIGH_WATERMARK = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
# default_high_watermark_ratio in ATen/mps/MPSAllocator.h of torch 2.13.
DEFAULT_HIGH_WATERMARK = 1.7
# The words of `mps_fallback` in aten/src/ATen/mps/MPSFallback.mm of torch.
FALLBACK = re.compile(r"The operator '([^']+)' is not currently supported on the MPS backend and will fall back")
REMEDY = "each call copies to the CPU and back: write the model without it, or compare with device cpu"


class MpsDevice(CpuDevice):
    """The `Accelerator` of Metal. Copies are made one after another: several threads copying at once hang."""

    kind = "mps"

    def __init__(self, reason: str, report: Reporter) -> None:
        super().__init__("mps", reason, report)
        self._limit_bytes = memory_limit_bytes()

    def synchronize(self) -> None:
        torch.mps.synchronize()

    def memory(self) -> DeviceMemory:
        return DeviceMemory(
            allocated_bytes=torch.mps.current_allocated_memory(),
            reserved_bytes=torch.mps.driver_allocated_memory(),
            limit_bytes=self._limit_bytes,
        )

    def random_state(self) -> dict[str, torch.Tensor]:
        return {**super().random_state(), "mps": torch.mps.get_rng_state()}

    def set_random_state(self, states: dict[str, torch.Tensor]) -> None:
        super().set_random_state(states)
        if "mps" in states:
            torch.mps.set_rng_state(states["mps"])

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Gather operators that run on the CPU.

        torch says only the first of a process unless it warns always; Python then shows one for each line of code.
        """
        always = torch.is_warn_always_enabled()
        with warnings.catch_warnings():
            warnings.filterwarnings("default", message=r"The operator '.*' is not currently supported on the MPS backend")
            show = warnings.showwarning

            def heard(message: Warning | str, *where: Any, **more: Any) -> None:
                found = FALLBACK.match(str(message))
                if found is None:
                    show(message, *where, **more)
                else:
                    self._fell_back(found[1])

            warnings.showwarning = heard
            torch.set_warn_always(True)
            try:
                yield
            finally:
                torch.set_warn_always(always)

    def _fell_back(self, operator: str) -> None:
        if operator not in self.fallback_operators:
            self.fallback_operators.append(operator)
            self.report.finding("warning", f"{operator} runs on the CPU, MPS lacks it", remedy=REMEDY)


def memory_limit_bytes() -> int | None:
    """The most that torch will take on MPS: the high watermark times what Metal recommends; None without a limit."""
    ratio = DEFAULT_HIGH_WATERMARK
    with suppress(ValueError):
        ratio = float(os.environ.get(HIGH_WATERMARK, ratio))
    return round(ratio * torch.mps.recommended_max_memory()) if ratio > 0 else None
