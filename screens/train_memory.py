"""How much memory a training may use, from the machine's readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from explorer.schemas.readings import Inventory


def process_limit(inventory: Inventory | None) -> float | None:
    """Bytes that this machine lets its processes have: the container's limit, else all its memory."""
    return _number(inventory, "memory.limit_bytes") or _number(inventory, "memory.total_bytes")


def device_limit(inventory: Inventory | None, device: str) -> float | None:
    """Bytes of a device such as `mps` or `cuda:0`; None where the machine does not say."""
    name = device.lower()
    if name.startswith("mps"):
        return _number(inventory, "mps.memory_limit_bytes")
    if name.startswith("cuda") and inventory is not None:
        rows = inventory.get("cuda.devices").value
        place = name[5:6]
        index = int(place) if place.isdigit() else 0
        if isinstance(rows, list) and index < len(rows) and isinstance(rows[index], dict):
            found = rows[index].get("memory_bytes")
            return float(found) if isinstance(found, int | float) else None
    return None


def _number(inventory: Inventory | None, name: str) -> float | None:
    reading = inventory.get(name) if inventory is not None else None
    if reading is None or not reading.known or not isinstance(reading.value, int | float):
        return None
    return float(reading.value)
