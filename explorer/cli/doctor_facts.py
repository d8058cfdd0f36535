"""What `explorer doctor` says of program, packages, terminal and engine: no host name, no user name."""

import contextlib
import locale
import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path

from explorer import __version__, home
from explorer.engine.client import connect
from explorer.errors import ExplorerError

# What the program calls; the heavy ones are in the readings as well, this list is for a bug report to be read at a glance.
PACKAGES = (
    *("torch", "numpy", "coremltools", "onnx", "onnxscript", "onnxruntime", "safetensors", "torch-pruning"),
    *("textual", "psutil", "pydantic", "nvidia-ml-py", "zeus-apple-silicon"),
)
TERMINAL_NAMES = ("TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG")
HIDDEN_NAMES = ("SSH_CONNECTION", "TMUX", "STY")


def facts() -> dict[str, dict[str, str]]:
    """Sections of names and values, in the order of the page."""
    return {"program": _program(), "packages": _packages(), "terminal": _terminal()}


async def engine() -> dict[str, str]:
    """Whether an engine runs for this user on this host, and its version; starts none."""
    try:
        client = await connect(start=False)
    except ExplorerError as error:
        return {"state": error.message}
    with contextlib.suppress(ExplorerError):
        status = await client.status()
        await client.aclose()
        work = f"{status.running} of {status.slots} slots busy, {status.queued} queued"
        return {"state": "running", "version": status.version, "jobs": work, "up": f"{status.uptime_s:.0f} s"}
    return {"state": "does not answer"}


def without_user(path: Path) -> str:
    """A path with the user's folder as `~`."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


def _program() -> dict[str, str]:
    return {
        "explorer": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "system": f"{platform.system()} {platform.release()}",
        "environment": "virtual" if sys.prefix != sys.base_prefix else "system",
        "state folder": without_user(home.home()),
        "free there": _free(home.home()),
    }


def _free(folder: Path) -> str:
    existing = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    try:
        return f"{shutil.disk_usage(existing).free / 2**30:.1f} GiB"
    except OSError as error:
        return f"not told: {error.strerror}"


def _packages() -> dict[str, str]:
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _terminal() -> dict[str, str]:
    size = shutil.get_terminal_size(fallback=(0, 0))
    shown = {name: os.environ[name] for name in TERMINAL_NAMES if name in os.environ}
    hidden = {name: "yes" for name in HIDDEN_NAMES if name in os.environ}
    return {
        "size": f"{size.columns} x {size.lines}" if size.columns else "not a terminal",
        "encoding": locale.getpreferredencoding(False),
        **shown,
        **hidden,
    }
