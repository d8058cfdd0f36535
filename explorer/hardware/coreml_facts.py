"""`python -m explorer.hardware.coreml_facts`: the devices that Core ML computes on, as a check on what ioreg says.

Runs in a child on macOS only: a Core ML call may abort the whole process (coremltools issue 2757).
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from explorer.hardware.answers import found, known, missing
from explorer.hardware.child import answer, first_line
from explorer.schemas.readings import Reading

SOURCE = "coremltools MLComputeDevice"
KINDS = {"MLCPUComputeDevice": "CPU", "MLGPUComputeDevice": "GPU", "MLNeuralEngineComputeDevice": "Neural Engine"}


def coreml_readings() -> dict[str, Reading]:
    """`coreml.devices`, names in Core ML's order, and `ane.coreml_cores`, those of the Neural Engine."""
    if sys.platform != "darwin":
        return unanswered("Core ML runs on macOS only")
    try:
        devices = import_module("coremltools.models.compute_device").MLComputeDevice.get_all_compute_devices()
    except AttributeError:
        return unanswered("this coremltools has no native library, or one without this question")
    except RuntimeError as error:
        return unanswered(f"Core ML tells its devices from macOS 14 on ({first_line(error)})")
    cores = [device.total_core_count for device in devices if _kind(device) == "Neural Engine"]
    return {
        "coreml.devices": found([_kind(device) for device in devices], SOURCE, "Core ML shows no device"),
        "ane.coreml_cores": known(cores[0], SOURCE, "cores") if cores else missing("Core ML shows no Neural Engine", SOURCE),
    }


NAMES: dict[Callable[[], dict[str, Reading]], tuple[str, ...]] = {coreml_readings: ("coreml.devices", "ane.coreml_cores")}


def unanswered(reason: str) -> dict[str, Reading]:
    """Both readings absent for the same reason."""
    return dict.fromkeys(("coreml.devices", "ane.coreml_cores"), missing(reason, SOURCE))


def _kind(device: Any) -> str:
    name = type(device).__name__.lstrip("_").removesuffix("Proxy")
    return KINDS.get(name, name)


if __name__ == "__main__":
    answer(NAMES)
