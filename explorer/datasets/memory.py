"""Whether samples fit in memory, asked before they are read."""

import psutil

from explorer.errors import ExplorerError
from explorer.hardware import cgroup

SHARE = 0.5
GIB = 1 << 30


def available_bytes() -> int | None:
    """Memory that this process could still take: the system's, or its control group's when less; None when nobody says."""
    try:
        free: int | None = int(psutil.virtual_memory().available)
    except (OSError, RuntimeError):  # macOS 26 with psutil issue 2853
        free = None
    limits = cgroup.limits(cgroup.read_groups())
    if limits.memory_bytes is None:
        return free
    left = max(0, limits.memory_bytes - (limits.memory_used_bytes or 0))
    return left if free is None else min(free, left)


def check_room(needed_bytes: int, name: str, remedy: str) -> None:
    """Raise `ExplorerError` when samples would take more than half of the available memory."""
    free = available_bytes()
    if free is not None and needed_bytes > free * SHARE:
        raise ExplorerError(
            f"{name} takes {needed_bytes / GIB:.1f} GiB in memory, more than half of the {free / GIB:.1f} GiB available", remedy
        )
