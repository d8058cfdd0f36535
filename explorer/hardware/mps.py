"""Whether torch can compute on this Mac's GPU through Metal (MPS), and if not, the first reason that holds.

The order is that of certainty: the system, Rosetta, the processor, the build, the macOS, the device, the virtual machine, the
allocation. torch's own messages are not repeated: they name the wrong cause (pytorch issue 177819), and "available" is no
promise in a virtual machine, where the first bytes may fail (pytorch issue 125197).
"""

import re
from dataclasses import dataclass

from explorer.hardware.answers import known, missing
from explorer.schemas.readings import Reading

FIRST_MACOS = 14  # torch's wheels carry this tag
SOURCE = "1 KiB allocated on the device by torch"


@dataclass(frozen=True)
class MpsFacts:
    """What speaks for or against MPS; None means not asked yet.

    `machine` is the Python process's architecture, `failure` what the allocation raised ("" when it worked), and `gpus` the
    names of the GPUs that this process can see.
    """

    system: str
    machine: str = ""
    translated: bool = False
    os_version: str = ""
    virtual: bool = False
    built: bool | None = None
    available: bool | None = None
    failure: str | None = None
    gpus: tuple[str, ...] | None = None


def verdict(facts: MpsFacts) -> Reading:
    """True when a tensor was really allocated; else why not, or pending while torch has not been asked."""
    if facts.system != "Darwin":
        return missing(f"no Metal on {facts.system or 'this system'}")
    if reason := _unsupported(facts):
        return missing(reason, state="unsupported")
    if facts.built is None:
        return missing("torch has not been asked yet", state="pending")
    if not facts.available:
        return missing(_unavailable(facts), "torch", state="unsupported")
    if facts.failure is None:
        return missing("no allocation was tried", state="pending")
    if facts.failure:
        where = "in this virtual machine " if facts.virtual else ""
        return missing(f"available, but allocating 1 KiB {where}fails: {facts.failure}", SOURCE, state="unsupported")
    return known(True, SOURCE)


def _unsupported(facts: MpsFacts) -> str:
    major = re.match(r"\d{1,4}", facts.os_version)
    if facts.translated:
        return "this Python runs under Rosetta; install an arm64 Python"
    if facts.machine not in ("arm64", ""):
        return "torch's Metal backend needs Apple silicon"
    if facts.built is False:
        return "this torch build has no MPS"
    if major and int(major[0]) < FIRST_MACOS:
        return f"torch needs macOS {FIRST_MACOS} and this is {facts.os_version}"
    return ""


def _unavailable(facts: MpsFacts) -> str:
    if facts.gpus == ():
        return "no GPU is visible to this process, as in a sandbox or a virtual machine without a paravirtual GPU"
    if facts.virtual or any("Paravirtual" in name for name in facts.gpus or ()):
        return "this virtual machine's GPU lacks the Metal family that torch asks for"
    return "torch accepts no GPU that this process can see, as in a sandbox"
