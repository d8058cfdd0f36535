"""The devices that torch can use here, with what measuring on them needs."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from explorer.errors import ExplorerError
from explorer.schemas.readings import Inventory

# Never more than this part of what is available, so that a measurement pushes nothing else out of memory.
MEMORY_SHARE = 4
UNKNOWN_MEMORY_BYTES = 1 << 30
NAMES = ("cpu", "mps", "cuda")


@dataclass(frozen=True)
class Device:
    """A torch device; a figure may hold `budget_bytes` on it and `host_budget_bytes` on the host.

    `label` is the product's name where it is not the machine's chip.
    """

    name: str
    budget_bytes: int
    host_budget_bytes: int
    synchronize: Callable[[], None]
    release: Callable[[], None]
    has_own_memory: bool = False
    pinned: bool = False
    label: str = ""


def usable(wanted: str, host_bytes: int) -> tuple[list[Device], dict[str, str]]:
    """The devices asked for ("all" or a name), and why others are not there.

    Raises `ExplorerError` for a named one that torch cannot use.
    """
    names = NAMES if wanted == "all" else (wanted,)
    reasons = {name: reason for name in names if (reason := unusable(name))}
    if wanted in reasons:
        raise ExplorerError(f"device {wanted} cannot be used: {reasons[wanted]}", "measure with devices all or cpu")
    return [_device(name, host_bytes) for name in names if name not in reasons], reasons


def unusable(name: str) -> str:
    """Why torch cannot use the device here; empty when it can. A device that only says so is tried."""
    if name == "cpu":
        return ""
    built = torch.backends.mps.is_built() if name == "mps" else torch.backends.cuda.is_built()  # type: ignore[no-untyped-call]
    if not built:
        return f"this torch is built without {name.upper()}"
    available = torch.backends.mps.is_available() if name == "mps" else torch.cuda.is_available()
    if not available:
        return "needs a Mac with a Metal GPU that torch supports" if name == "mps" else "no usable GPU or driver"
    try:
        torch.ones(2, device=name).sum().item()
    except RuntimeError as error:
        return (str(error).splitlines() or ["it fails on the first bytes"])[0]
    return ""


def host_budget_bytes(facts: Inventory) -> int:
    """A quarter of the memory that is available within the machine and its control group."""
    available = facts.get("memory.available_bytes")
    return (int(available.value) if available.known else UNKNOWN_MEMORY_BYTES) // MEMORY_SHARE


def _device(name: str, host_bytes: int) -> Device:
    if name == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info()
        return Device(
            name,
            free_bytes // MEMORY_SHARE,
            host_bytes,
            torch.cuda.synchronize,
            torch.cuda.empty_cache,
            has_own_memory=True,
            pinned=True,
            label=torch.cuda.get_device_name(),
        )
    if name == "mps":
        free_bytes = torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
        shared = min(host_bytes // 2, max(0, free_bytes) // MEMORY_SHARE)
        return Device(name, shared, host_bytes // 2, torch.mps.synchronize, torch.mps.empty_cache, has_own_memory=True)
    return Device(name, host_bytes, host_bytes, _nothing, _nothing)


def _nothing() -> None:
    """A CPU call has ended when it returns, and its memory is given back at once."""
