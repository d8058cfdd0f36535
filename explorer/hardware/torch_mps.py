"""What torch says of Metal, and whether it can really allocate there; for the child of `torch_facts` only."""

import platform
from collections.abc import Callable
from importlib import import_module
from typing import Any

from explorer.hardware import mps, sysctl, system_profiler
from explorer.hardware.answers import found, known, missing
from explorer.hardware.child import first_line
from explorer.hardware.readers import output_of
from explorer.schemas.readings import Reading

KIB = 1024
SYSCTL = (
    "/usr/sbin/sysctl",
    "sysctl.proc_translated",
    "kern.osproductversion",
    "kern.hv_vmm_present",
    "machdep.cpu.brand_string",
)
PROFILE = ("/usr/sbin/system_profiler", "-json", "SPDisplaysDataType")
NOT_TOLD = "this torch does not tell"


def availability() -> dict[str, Reading]:
    """Whether torch calls MPS available, and what it says of the GPU: name, cores, and bytes it advises to stay below."""
    torch = import_module("torch")
    backend = torch.backends.mps
    available = _available(backend)
    if not available:
        absent = missing("torch does not call MPS available", "torch")
        return {
            "mps.available": known(False, "torch"),
            **dict.fromkeys(("mps.name", "mps.cores", "mps.memory_limit_bytes"), absent),
        }
    return {
        "mps.available": known(True, "torch"),
        "mps.name": _told(backend, "get_name"),
        "mps.cores": _told(backend, "get_core_count", "cores"),
        "mps.memory_limit_bytes": _told(torch.mps, "recommended_max_memory", "B"),
    }


def usability() -> dict[str, Reading]:
    """`mps.usable`: whether 1 KiB put on the device comes back; this may crash or hang where "available" was no promise."""
    backend = import_module("torch").backends.mps
    built, available = bool(backend.is_built()), _available(backend)
    facts = mps.MpsFacts(**_host(), built=built, available=available, failure=_failure() if available else None)
    return {"mps.usable": mps.verdict(facts)}


def _available(backend: Any) -> bool:
    return bool(backend.is_built()) and bool(backend.is_available())


def _told(owner: Any, name: str, unit: str = "") -> Reading:
    """An answer that older torches cannot give, and newer ones may refuse."""
    ask: Callable[[], Any] | None = getattr(owner, name, None)
    try:
        return found(ask() if ask else None, f"torch {name}", NOT_TOLD, unit)
    except Exception as error:  # torch raises many kinds here
        return missing(first_line(error), f"torch {name}", unit)


def _host() -> dict[str, Any]:
    facts: dict[str, Any] = {"system": platform.system(), "machine": platform.machine()}
    if facts["system"] == "Darwin":
        values, profile = sysctl.parse(output_of(SYSCTL).text), output_of(PROFILE).text
        facts["translated"] = values.get("sysctl.proc_translated") == "1"
        facts["os_version"] = values.get("kern.osproductversion", "")
        facts["virtual"] = values.get("kern.hv_vmm_present") == "1" or "(Virtual)" in values.get("machdep.cpu.brand_string", "")
        if '"SPDisplaysDataType"' in profile:
            facts["gpus"] = tuple(str(gpu["name"]) for gpu in system_profiler.gpus(profile))
    return facts


def _failure() -> str:
    """What allocating and reading back 1 KiB on the device raises; empty when it works."""
    torch = import_module("torch")
    try:
        total = int(torch.ones(KIB // 4, device="mps").sum().item())
    except Exception as error:  # torch raises many kinds here
        return first_line(error)
    return "" if total == KIB // 4 else "the device gave back other numbers"
