"""`ioreg -a` property lists of macOS: the Neural Engine's identity and the GPU's core count and live use."""

import plistlib
from typing import Any
from xml.parsers.expat import ExpatError

PREFIX = "ANEDeviceProperty"


def nodes(text: str) -> list[dict[str, Any]]:
    """Registry nodes at the top of the output; none when it is empty (no such device) or not a property list."""
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
    items = document if isinstance(document, list) else [document]
    return [item for item in items if isinstance(item, dict)]


def neural_engines(text: str) -> list[dict[str, Any]]:
    """Neural Engines of class H11ANEIn (on every chip so far) as `{cores, architecture}`; an M6 has two."""
    properties = [node["DeviceProperties"] for node in nodes(text) if isinstance(node.get("DeviceProperties"), dict)]
    return [
        {
            "cores": _integer(item.get(f"{PREFIX}NumANECores")),
            "architecture": str(item.get(f"{PREFIX}TypeANEArchitectureTypeStr", "")),
        }
        for item in properties
        if f"{PREFIX}NumANECores" in item
    ]


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
