"""Live use of the GPU: by NVML, by the kernel's files for AMD, or by the IORegistry on a Mac."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from explorer.hardware import ioreg, live_drm, nvidia
from explorer.hardware.answers import found, known, missing
from explorer.hardware.live_source import Readings
from explorer.hardware.macos import COMMANDS
from explorer.hardware.readers import Text, output_of
from explorer.schemas.readings import Reading

UNITS = {"gpu.use": "%", "gpu.memory_used_bytes": "B", "gpu.per_device": "", "power.gpu": "W"}
MAC_UNITS = {name: unit for name, unit in UNITS.items() if name != "power.gpu"}  # there it comes with the other rails
IOREG = "ioreg PerformanceStatistics"
IOREG_LIMIT_S = 1.0
TEMPERATURE_OF_GPU, CLOCK_OF_SM = 0, 1  # NVML_TEMPERATURE_GPU, NVML_CLOCK_SM
MIG_REASON = "NVML gives no utilization for a GPU that is split by MIG"


class LinuxGpus:
    """NVIDIA GPUs when NVML shows any, else those that the kernel's `/sys/class/drm` shows. NVML starts at the first call."""

    def __init__(self, root: Path = Path("/sys")) -> None:
        self._root = root
        self._read: Callable[[], Readings] | None = None

    def __call__(self) -> Readings:
        """`gpu.use` (percent, mean over GPUs), `gpu.memory_used_bytes` (all together), `gpu.per_device` rows and `power.gpu`."""
        if self._read is None:
            self._read = self._start()
        return self._read()

    def _start(self) -> Callable[[], Readings]:
        try:
            nvml = nvidia.start()
        except nvidia.NvmlAbsent as error:
            return self._start_drm(f"no NVIDIA GPU ({error})")
        handles = nvidia.devices(nvml)
        if not handles:
            return self._start_drm("NVML shows no GPU")
        return lambda: with_power([nvml_row(nvml, handle) for handle in handles], "NVML", _mig_reason(nvml, handles))

    def _start_drm(self, no_nvidia: str) -> Callable[[], Readings]:
        cards = live_drm.amd_cards(self._root)
        if cards:
            return lambda: with_power([card.row() for card in cards], "amdgpu sysfs")
        reason = live_drm.silent_reason(self._root) or no_nvidia
        none = {name: missing(reason, unit=unit) for name, unit in UNITS.items()}
        return lambda: none


def mac_gpu(run: Callable[[tuple[str, ...]], Text] = lambda command: output_of(command, IOREG_LIMIT_S)) -> Readings:
    """From the accelerator's PerformanceStatistics as `ioreg` prints them."""
    return from_ioreg(run(COMMANDS["gpu"]))


def from_ioreg(text: Text) -> Readings:
    """From the accelerator's PerformanceStatistics, which count every process."""
    use = ioreg.gpu_use(text.text)
    if any(value is not None for value in use.values()):
        return from_rows([use], IOREG)
    reason = "the GPU tells no statistics" if text else text.reason
    return {name: missing(reason, IOREG, unit) for name, unit in MAC_UNITS.items()}


def from_rows(rows: Sequence[dict[str, Any]], source: str, caveat: str = "") -> Readings:
    """From one `{use_percent, memory_used_bytes}` a GPU, each None when that GPU does not tell; `caveat` says why not."""
    use, memory = _told(rows, "use_percent"), _told(rows, "memory_used_bytes")
    silent = f"{source} does not tell"
    mean = known(round(sum(use) / len(use), 1), source, "%", caveat) if use else missing(caveat or silent, source, "%")
    return {
        "gpu.use": mean,
        "gpu.memory_used_bytes": found(sum(memory) if memory else None, source, silent, "B"),
        "gpu.per_device": known(list(rows), source) if rows else missing(f"{source} shows no GPU"),
    }


def with_power(rows: Sequence[dict[str, Any]], source: str, caveat: str = "") -> Readings:
    """`from_rows` and `power.gpu`, the sum over GPUs when every one tells its own."""
    watts = _told(rows, "power_w")
    total = round(sum(watts), 1) if watts and len(watts) == len(rows) else None
    power: Reading = found(total, source, f"not reported by this system ({source} does not tell for every GPU)", "W")
    return {**from_rows(rows, source, caveat), "power.gpu": power}


def nvml_row(nvml: Any, handle: Any) -> dict[str, Any]:
    """`{use_percent, memory_used_bytes, power_w, temperature_c, mhz}` of one GPU, None where NVML refuses."""
    use = nvidia.told(nvml, "nvmlDeviceGetUtilizationRates", handle)
    memory = nvidia.told(nvml, "nvmlDeviceGetMemoryInfo", handle)
    milliwatts = nvidia.told(nvml, "nvmlDeviceGetPowerUsage", handle)
    return {
        "use_percent": int(use.gpu) if use else None,
        "memory_used_bytes": int(memory.used) if memory else None,
        "power_w": round(milliwatts / 1000, 1) if milliwatts else None,
        "temperature_c": nvidia.told(nvml, "nvmlDeviceGetTemperature", handle, TEMPERATURE_OF_GPU),
        "mhz": nvidia.told(nvml, "nvmlDeviceGetClockInfo", handle, CLOCK_OF_SM),
    }


def _mig_reason(nvml: Any, handles: Sequence[Any]) -> str:
    modes = [nvidia.told(nvml, "nvmlDeviceGetMigMode", handle) for handle in handles]
    return MIG_REASON if any(mode and mode[0] for mode in modes) else ""


def _told(rows: Sequence[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows if row.get(key) is not None]
