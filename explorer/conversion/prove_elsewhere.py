"""What to do where Core ML cannot run: one line for a Mac that fetches the job, proves it and brings the truth back."""

import getpass
import shlex
import socket
import sys
from pathlib import Path

from explorer.conversion.route import Route

TRUTH_FILE = "prove.json"
NEEDS_A_MAC = "Core ML runs models on macOS only: this one was checked by the reference evaluator, not by Core ML"


def can_prove() -> bool:
    """Whether Core ML can run here."""
    return sys.platform == "darwin"


def say_where_it_runs(route: Route, job: Path) -> None:
    """Where Core ML cannot run, tell what the proof does not say and how to get it."""
    if not can_prove():
        route.find("info", "Checked by the reference evaluator, not run on Core ML", "", f"on a Mac run: {mac_line(job)}")


def mac_line(job: Path) -> str:
    """A shell line for a job's folder, or a loose package, to be run on a Mac that reaches this machine over SSH."""
    there = f"{_user()}@{socket.gethostname()}:{job}"
    line = f"scp -r {shlex.quote(there)} . && explorer prove {shlex.quote(job.name)}"
    if not (job / "artifacts").is_dir():
        return line
    truth = shlex.quote(f"{job.name}/artifacts/{TRUTH_FILE}")
    return f"{line} && scp {truth} {shlex.quote(f'{there}/artifacts/')}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "USER"
