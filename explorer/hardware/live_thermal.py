"""Heat: the temperature of the CPU on Linux, the thermal state on macOS. Neither system gives the other's figure."""

import ctypes
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explorer.hardware.answers import found, missing
from explorer.hardware.live_drm import number
from explorer.hardware.live_source import Readings
from explorer.hardware.readers import text_of

UNITS = {"thermal": "", "temperature.cpu": "°C"}
# hwmon drivers of CPUs (kernel Documentation/hwmon): Intel, AMD, and Arm boards through their thermal zone.
CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal", "scpi_sensors")
CPU_ZONE = re.compile(r"x86_pkg_temp|(cpu|soc|pkg|package|cluster|big|little)[-_0-9a-z]*", re.IGNORECASE)
NOT_ON_LINUX = "Linux gives temperatures, no thermal state"
NOT_ON_MAC = "macOS gives a thermal state; temperatures only through the private SMC"
STATES = ("nominal", "fair", "serious", "critical")  # NSProcessInfoThermalState 0 to 3
OBJC, FOUNDATION = "/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Foundation.framework/Foundation"


class LinuxTemperature:
    """The hottest sensor of the CPU: hwmon where a driver of CPUs is there, else thermal zones of that name."""

    def __init__(self, root: Path = Path("/sys"), virtual: bool = False) -> None:
        self._files = _hwmon_files(root) or _zone_files(root)
        where = "a virtual machine shows none" if virtual else "neither hwmon nor a thermal zone is the CPU's"
        self._none = f"this system shows no temperature of the CPU: {where}"

    def __call__(self) -> Readings:
        """`temperature.cpu` in °C, and why there is no `thermal`."""
        hottest = hottest_celsius(number(path) for path in self._files)
        source = str(self._files[0].parent) if self._files else ""
        reason = "the sensors of the CPU give no usable value" if self._files else self._none
        return {"temperature.cpu": found(hottest, source, reason, "°C"), "thermal": missing(NOT_ON_LINUX)}


def hottest_celsius(millidegrees: Iterable[int | None]) -> float | None:
    """The highest value that a chip can have: sensors without one say 0, -128 or 255 °C."""
    celsius = [value / 1000 for value in millidegrees if value is not None]
    return max((round(value, 1) for value in celsius if 0 < value <= 150), default=None)


def _hwmon_files(root: Path) -> list[Path]:
    files: list[Path] = []
    for folder in sorted(root.glob("class/hwmon/hwmon*")):
        if text_of(folder / "name").text.strip() in CPU_SENSORS:
            files += _telling({path: _label(path) for path in sorted(folder.glob("temp*_input"))})
    return files


def _telling(labels: dict[Path, str]) -> list[Path]:
    """Sensors by their labels: Intel's package is its hottest core, and asking each core would wake it.

    AMD's Tctl may lie tens of degrees above the die (k10temp.rst), so it counts only where it is alone.
    """
    packages = [path for path, label in labels.items() if label.startswith("Package id")]
    return packages or [path for path, label in labels.items() if label != "Tctl"] or list(labels)


def _label(sensor: Path) -> str:
    return text_of(sensor.with_name(sensor.name.replace("_input", "_label"))).text.strip()


def _zone_files(root: Path) -> list[Path]:
    zones = sorted(root.glob("class/thermal/thermal_zone*"))
    return [zone / "temp" for zone in zones if CPU_ZONE.fullmatch(text_of(zone / "type").text.strip())]


class MacThermal:
    """`NSProcessInfo.thermalState` through the Objective-C runtime. Never run on a Mac yet.

    `runtime` stands in for libobjc in tests. Raises OSError where there is none.
    """

    def __init__(self, runtime: Any = None) -> None:
        if runtime is None:
            self._foundation = ctypes.CDLL(FOUNDATION)  # brings the class
            runtime = ctypes.CDLL(OBJC)
        runtime.objc_getClass.argtypes, runtime.objc_getClass.restype = (ctypes.c_char_p,), ctypes.c_void_p
        runtime.sel_registerName.argtypes, runtime.sel_registerName.restype = (ctypes.c_char_p,), ctypes.c_void_p
        self._process = _message(runtime, ctypes.c_void_p)(
            runtime.objc_getClass(b"NSProcessInfo"), runtime.sel_registerName(b"processInfo")
        )
        self._state = _message(runtime, ctypes.c_long)
        self._selector = runtime.sel_registerName(b"thermalState")

    def __call__(self) -> Readings:
        """`thermal` by name, and why there is no `temperature.cpu`."""
        if not self._process:  # a message to nil answers 0, which would read as nominal
            return {"thermal": missing("the Objective-C runtime has no NSProcessInfo")}
        state = self._state(self._process, self._selector)
        name = STATES[state] if 0 <= state < len(STATES) else None
        return {
            "thermal": found(name, "NSProcessInfo.thermalState", f"thermal state {state} has no name"),
            "temperature.cpu": missing(NOT_ON_MAC, unit="°C"),
        }


def _message(runtime: Any, result: Any) -> Any:
    """`objc_msgSend` with a result type of its own: each look-up by item gives a new function object."""
    send = runtime["objc_msgSend"]
    send.argtypes, send.restype = (ctypes.c_void_p, ctypes.c_void_p), result
    return send
