"""Where a user's jobs, the engine's socket and the samples are."""

import hashlib
import os
import socket
import tempfile
from pathlib import Path

import platformdirs

from explorer.errors import ExplorerError

# sun_path holds 104 bytes on macOS and 108 on Linux, the closing zero included.
MAX_SOCKET_PATH_BYTES = 103


def home() -> Path:
    """The state folder: `EXPLORER_HOME`, else the platform's user state folder. Not created here."""
    override = os.environ.get("EXPLORER_HOME")
    return Path(override).expanduser().absolute() if override else Path(platformdirs.user_state_dir("explorer"))


def private_folder(path: Path) -> Path:
    """`path`, made with its parents and closed to other users (mode 0700)."""
    path.mkdir(parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise ExplorerError(f"{path} belongs to another user", "set EXPLORER_HOME to a folder of your own")
    path.chmod(0o700)
    return path


def jobs_folder() -> Path:
    """Every job that is kept, a folder each."""
    return private_folder(home() / "jobs")


def scratch_folder() -> Path:
    """Jobs whose answer is read once, such as an inspection; emptied when the engine starts."""
    return private_folder(engine_folder() / "scratch")


def engine_folder() -> Path:
    """Lock, log and socket of this host's engine; one folder a host, since homes are shared over networks."""
    return private_folder(home() / "hosts" / host_name())


def host_name() -> str:
    return socket.gethostname().split(".")[0] or "localhost"


def socket_path() -> Path:
    """The engine's Unix socket; a short hashed name below the temporary folder when the home path is too long."""
    path = engine_folder() / "engine.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return private_folder(Path(tempfile.gettempdir()) / f"explorer-{os.getuid()}-{digest}") / "e.sock"


def samples_folder() -> Path:
    """The samples, inside an installed wheel or beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_samples"
    return installed if installed.is_dir() else package.parent / "samples"
