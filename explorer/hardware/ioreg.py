"""`ioreg -a` property lists of macOS: registry nodes, and of them the GPU's core count and live use."""

import plistlib
from typing import Any
from xml.parsers.expat import ExpatError

CHILDREN = "IORegistryEntryChildren"


def nodes(text: str) -> list[dict[str, Any]]:
    """Registry nodes, those inside others after them; none when the text is empty (no such device) or no property list."""
    try:
        document = plistlib.loads(text.encode())
    except (
        ValueError,
        ExpatError,
        plistlib.InvalidFileException,
        AttributeError,
        OverflowError,
        RecursionError,
        LookupError,
        TypeError,
    ):
        return []
    found: list[dict[str, Any]] = []
    waiting = document if isinstance(document, list) else [document]
    while waiting:
        level = [item for item in waiting if isinstance(item, dict)]
        found += level
        inner = [item.get(CHILDREN) for item in level]
        waiting = [node for nodes in inner if isinstance(nodes, list) for node in nodes]
    return found


def gpu_cores(text: str) -> int | None:
    """Cores of the Apple GPU (class AGXAccelerator)."""
    return next((cores for node in nodes(text) if (cores := _integer(node.get("gpu-core-count")))), None)


def gpu_use(text: str) -> dict[str, int | None]:
    """Live `use_percent` of the whole machine's GPU and its `memory_used_bytes`, each None when not told."""
    for node in nodes(text):
        statistics = node.get("PerformanceStatistics")
        if isinstance(statistics, dict):
            return {
                "use_percent": _integer(statistics.get("Device Utilization %")),
                "memory_used_bytes": _integer(statistics.get("In use system memory")),
            }
    return {"use_percent": None, "memory_used_bytes": None}


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
