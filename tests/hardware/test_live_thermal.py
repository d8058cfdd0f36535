"""Heat: sensors of the CPU on Linux, the thermal state of a made-up Objective-C runtime on macOS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.hardware import live_thermal
from explorer.hardware.live_thermal import NOT_ON_LINUX, LinuxTemperature, MacThermal, hottest_celsius
from tests.hardware.live_files import tree


def test_the_hottest_sensor_of_the_cpu(tmp_path: Path) -> None:
    files = {"hwmon1/name": "coretemp", "hwmon1/temp1_input": 48000, "hwmon1/temp2_input": 61500}
    files |= {"hwmon0/name": "nvme", "hwmon0/temp1_input": 88000}
    readings = LinuxTemperature(tree(tmp_path, {f"class/hwmon/{name}": text for name, text in files.items()}))()
    assert (readings["temperature.cpu"].value, readings["temperature.cpu"].unit) == (61.5, "°C")
    assert (readings["thermal"].state, readings["thermal"].reason) == ("absent", NOT_ON_LINUX)


def test_intels_package_stands_for_its_cores(tmp_path: Path) -> None:
    files = {
        "name": "coretemp",
        "temp1_input": 70000,
        "temp1_label": "Package id 0",
        "temp2_input": 71000,
        "temp2_label": "Core 0",
    }
    root = tree(tmp_path, {f"class/hwmon/hwmon2/{name}": text for name, text in files.items()})
    assert LinuxTemperature(root)()["temperature.cpu"].value == 70


def test_amds_control_value_is_no_temperature_where_the_die_has_one(tmp_path: Path) -> None:
    files = {"name": "k10temp", "temp1_input": 92000, "temp1_label": "Tctl", "temp3_input": 65000, "temp3_label": "Tccd1"}
    root = tree(tmp_path, {f"class/hwmon/hwmon2/{name}": text for name, text in files.items()})
    assert LinuxTemperature(root)()["temperature.cpu"].value == 65
    (root / "class/hwmon/hwmon2/temp3_input").unlink()
    assert LinuxTemperature(root)()["temperature.cpu"].value == 92


def test_a_thermal_zone_of_the_cpu_where_no_driver_is(tmp_path: Path) -> None:
    zones = {"thermal_zone0/type": "acpitz", "thermal_zone0/temp": 99000, "thermal_zone1/type": "cpu-thermal"}
    root = tree(tmp_path, {f"class/thermal/{name}": text for name, text in zones.items()})
    tree(root, {"class/thermal/thermal_zone1/temp": 51234})
    assert LinuxTemperature(root)()["temperature.cpu"].value == 51.2


def test_no_sensor_is_a_reason(tmp_path: Path) -> None:
    reading = LinuxTemperature(tmp_path, virtual=True)()["temperature.cpu"]
    assert (reading.value, reading.state) == (None, "absent")
    assert reading.reason.endswith("a virtual machine shows none")


def test_values_that_no_chip_has_are_dropped(tmp_path: Path) -> None:
    assert hottest_celsius([0, -128000, 255000, None, 40000]) == 40
    assert hottest_celsius([0, 151000]) is None
    zero = tree(tmp_path, {"class/hwmon/hwmon0/name": "coretemp", "class/hwmon/hwmon0/temp1_input": 0})
    assert LinuxTemperature(zero)()["temperature.cpu"].reason == "the sensors of the CPU give no usable value"


class FakeRuntime:
    """An Objective-C runtime that knows NSProcessInfo and answers one thermal state."""

    def __init__(self, state: int, known: bool = True) -> None:
        self.objc_getClass: Callable[[bytes], int] = lambda name: {b"NSProcessInfo": 1}[name] if known else 0
        self.sel_registerName: Callable[[bytes], int] = lambda name: {b"processInfo": 2, b"thermalState": 3}[name]
        self._answers = {(1, 2): 7, (7, 3): state, (0, 2): 0}

    def __getitem__(self, name: str) -> Any:
        assert name == "objc_msgSend"
        return _function(self._answers)


def _function(answers: dict[tuple[int, int], int]) -> Callable[[int, int], int]:
    return lambda receiver, selector: answers[(receiver, selector)]


@pytest.mark.parametrize(("state", "word"), [(0, "nominal"), (1, "fair"), (2, "serious"), (3, "critical"), (4, None), (-1, None)])
def test_thermal_states_by_name(state: int, word: str | None) -> None:
    reading = MacThermal(FakeRuntime(state))()["thermal"]
    assert (reading.value, reading.known) == (word, word is not None)


def test_a_runtime_without_the_class_is_not_nominal() -> None:
    assert MacThermal(FakeRuntime(0, known=False))()["thermal"].value is None


def test_a_system_without_objective_c_raises_os_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_thermal, "FOUNDATION", "/none/Foundation")
    with pytest.raises(OSError, match="Foundation"):
        MacThermal()
