"""GPUs that the Linux kernel shows below /sys/class/drm: AMD with figures, Intel by its reason.

Files and units: kernel Documentation/gpu/amdgpu/thermal.rst and driver-misc.rst.
"""

import re
from pathlib import Path
from typing import Any

from explorer.hardware.readers import text_of

CARD = re.compile(r"card[0-9]{1,3}")  # not the connectors, such as card0-DP-1
AMD, INTEL = "0x1002", "0x8086"
POWER_FILES = ("power1_average", "power1_input")


class AmdCard:
    """One AMD GPU; its sensors lie in the first hwmon folder of its device."""

    def __init__(self, device: Path) -> None:
        self._device = device
        self._sensors = min(device.glob("hwmon/hwmon*"), default=device / "hwmon/none")

    def row(self) -> dict[str, Any]:
        """`{use_percent, memory_used_bytes, power_w, temperature_c, mhz}`, None where the driver does not tell."""
        microwatts = next((value for name in POWER_FILES if (value := number(self._sensors / name))), None)
        millidegrees, hertz = number(self._sensors / "temp1_input"), number(self._sensors / "freq1_input")
        return {
            "use_percent": number(self._device / "gpu_busy_percent"),
            "memory_used_bytes": number(self._device / "mem_info_vram_used"),
            "power_w": round(microwatts / 1e6, 1) if microwatts else None,
            "temperature_c": round(millidegrees / 1000, 1) if millidegrees else None,
            "mhz": round(hertz / 1e6) if hertz else None,
        }


def amd_cards(root: Path = Path("/sys")) -> list[AmdCard]:
    """AMD GPUs of the amdgpu driver, which all tell their use or their memory."""
    return [
        AmdCard(device)
        for device in _devices(root, AMD)
        if (device / "gpu_busy_percent").exists() or (device / "mem_info_vram_used").exists()
    ]


def silent_reason(root: Path = Path("/sys")) -> str:
    """Why the GPUs that are there tell nothing; empty when there is none of AMD or Intel."""
    if devices := _devices(root, INTEL):
        driver = (devices[0] / "driver").resolve().name
        name = driver if driver in ("i915", "xe") else "its driver"
        return f"Intel GPU: {name} gives its use only to root (perf)"
    return "AMD GPU: its driver tells no use (amdgpu does)" if _devices(root, AMD) else ""


def number(path: Path) -> int | None:
    """The whole number in a file of sysfs."""
    text = text_of(path).text.strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def _devices(root: Path, vendor: str) -> list[Path]:
    cards = sorted(path for path in root.glob("class/drm/card*") if CARD.fullmatch(path.name))
    return [card / "device" for card in cards if text_of(card / "device/vendor").text.strip() == vendor]
