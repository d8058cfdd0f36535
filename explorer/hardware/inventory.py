"""What this machine is and can compute with: `collect` in under a second, `probe` for what only torch can tell."""

import platform
import sys

from explorer.hardware import device_files, frameworks, gpus, linux, macos, pci
from explorer.hardware.answers import known, missing
from explorer.hardware.neural_engine import NAMES as NEURAL_ENGINE_NAMES
from explorer.hardware.probe import pending, probe
from explorer.schemas.readings import Inventory, Reading

__all__ = ["collect", "probe"]


def collect() -> Inventory:
    """Every reading that needs no framework; those of `probe` are pending, or already refused where the system rules them out.

    Blocks up to a second (on a Mac for `system_profiler`): call it in a thread. Never raises for what a system does not tell.
    """
    return Inventory(
        readings={
            **pending(),
            "process.machine": known(platform.machine(), "platform"),
            "framework.python": known(platform.python_version(), "platform"),
            **frameworks.readings(),
            **_system(),
        }
    )


def _system() -> dict[str, Reading]:
    if sys.platform == "darwin":
        return macos.readings(macos.read())
    name = platform.system()
    none = dict.fromkeys(NEURAL_ENGINE_NAMES, missing(f"no Neural Engine on {name}: only Apple silicon has one"))
    texts, files = linux.read(), device_files.read()
    return {**none, **linux.readings(texts), **gpus.read(texts.sysfs, files), "tpu": pci.tpu(texts.sysfs, files)}
