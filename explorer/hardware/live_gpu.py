"""Live use of the GPU: by NVML, or by the IORegistry on a Mac."""

import sys
from collections.abc import Callable
from typing import Any

from explorer.hardware import ioreg, nvidia
from explorer.hardware.answers import found, known, missing
from explorer.hardware.macos import COMMANDS
from explorer.hardware.readers import Text, output_of
from explorer.schemas.readings import Reading

NAMES = ("gpu.use", "gpu.memory_used_bytes", "gpu.per_device")


def gpu_sampler() -> Callable[[], dict[str, Reading]]:
    """What gives `gpu.use` (percent, mean over GPUs), `gpu.memory_used_bytes` (all together) and `gpu.per_device` rows."""
    if sys.platform == "darwin":
        return lambda: from_ioreg(output_of(COMMANDS["gpu"], limit_s=1.0))
    try:
        nvml = nvidia.start()
    except nvidia.NvmlAbsent as error:
        none = dict.fromkeys(NAMES, missing(f"no NVIDIA GPU ({error})"))
        return lambda: none
    handles = nvidia.devices(nvml)
    return lambda: from_rows([_nvml_row(nvml, handle) for handle in handles], "NVML")


def from_ioreg(text: Text) -> dict[str, Reading]:
    """From the accelerator's PerformanceStatistics, which count every process."""
    use = ioreg.gpu_use(text.text)
    return from_rows([use], "ioreg PerformanceStatistics") if any(value is not None for value in use.values()) else _none(text)


def from_rows(rows: list[dict[str, Any]], source: str) -> dict[str, Reading]:
    """From one `{use_percent, memory_used_bytes}` a GPU, each None when that GPU does not tell."""
    use = [row["use_percent"] for row in rows if row["use_percent"] is not None]
    memory = [row["memory_used_bytes"] for row in rows if row["memory_used_bytes"] is not None]
    silent = f"{source} does not tell"
    return {
        "gpu.use": found(sum(use) / len(use) if use else None, source, silent, "%"),
        "gpu.memory_used_bytes": found(sum(memory) if memory else None, source, silent, "B"),
        "gpu.per_device": known(rows, source) if rows else missing(f"{source} shows no GPU"),
    }


def _none(text: Text) -> dict[str, Reading]:
    reason = "the GPU tells no statistics" if text else text.reason
    return dict.fromkeys(NAMES, missing(reason, "ioreg PerformanceStatistics"))


def _nvml_row(nvml: Any, handle: Any) -> dict[str, Any]:
    use = nvidia.told(nvml, "nvmlDeviceGetUtilizationRates", handle)
    memory = nvidia.told(nvml, "nvmlDeviceGetMemoryInfo", handle)
    return {"use_percent": int(use.gpu) if use else None, "memory_used_bytes": int(memory.used) if memory else None}
