"""A machine from a folder of its recorded outputs, on any system.

A reader takes every file whose name begins with its own: `sysctl.txt` and `sysctl-perflevels.txt` both go to `sysctl`. Files of
one reader are merged in the order of their names: a later one fills in what the earlier ones lack. Files of a control group
have exact names, since one kernel name begins another (`cpu.max` and `cpu.max.burst`).
"""

from pathlib import Path

from explorer.errors import ExplorerError
from explorer.hardware import cgroup, frameworks, linux, macos, probe, recorded_linux, recorded_mac
from explorer.hardware.answers import missing
from explorer.hardware.neural_engine import NAMES as NEURAL_ENGINE_NAMES
from explorer.hardware.readers import text_of
from explorer.hardware.recorded_files import Files
from explorer.schemas.readings import Inventory, Reading

MAX_FILES = 1000
UNASKED = "was not asked in this recording"
OTHER_NAMES = ("framework.python", "process.machine", "gpu", "gpu.driver", "tpu")


def inventory(folder: Path) -> Inventory:
    """Readings of the machine whose outputs lie in `folder`: every name of a live inventory, absent where not recorded.

    Raises `ExplorerError` when it is no folder, cannot be read, or holds no file that a reader knows.
    """
    return Inventory(readings=readings(_read(folder), folder.resolve().name))


def readings(texts: dict[str, str], name: str) -> dict[str, Reading]:
    """Readings of files given as `{file name: text}`; `name` is what messages call the folder. Raises as `inventory`."""
    files = Files(texts)
    if files.any_of(recorded_linux.PREFIXES) or files.exact(cgroup.FILES):
        return {**_unrecorded(), **recorded_linux.readings(files, name)}
    if files.any_of(recorded_mac.PREFIXES):
        return {**_unrecorded(), **recorded_mac.readings(files)}
    if files.any_of((recorded_linux.NVIDIA,)):
        return {**_unrecorded(), **recorded_linux.gpu(files)}
    raise ExplorerError(
        f"{name} holds no recorded output that explorer knows",
        "name the files after the commands, such as sysctl.txt or lscpu.txt, or make a folder with `explorer doctor --record`",
    )


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ExplorerError(f"{folder} {what}", "give the folder that holds a machine's recorded outputs")
    try:
        paths = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise ExplorerError(f"{folder} cannot be read ({error.strerror})", "give a folder that you may read") from None
    return {path.name: text_of(path).text for path in paths[:MAX_FILES]}


def _unrecorded() -> dict[str, Reading]:
    """Every name of a live inventory, absent."""
    system = {**macos.readings(macos.MacTexts()), **linux.readings(linux.LinuxTexts())}
    packages = [f"framework.{name}" for name in frameworks.PACKAGES]
    names = [*system, *NEURAL_ENGINE_NAMES, *packages, *OTHER_NAMES]
    torch = {name: missing(f"torch {UNASKED}") for name in probe.TORCH_NAMES}
    coreml = {name: missing(f"Core ML {UNASKED}") for name in probe.COREML_NAMES}
    return {**dict.fromkeys(names, missing("not recorded")), **torch, **coreml}
