"""PCI devices of Linux sysfs that compute: Google TPUs."""

import re
from collections import Counter
from typing import Any

PATTERNS = ("bus/pci/devices/*/vendor", "bus/pci/devices/*/device", "bus/pci/devices/*/subsystem_device")
PATH = re.compile(r"/sys/bus/pci/devices/([^/]+)/(vendor|device|subsystem_device)")
GOOGLE = "0x1ae0"  # also the vendor of Google Cloud's network and disk devices: the device decides
# Device, and the subsystem where two generations share it, from AI-Hypercomputer/cloud-accelerator-diagnostics device.py.
TPUS = {
    ("0x0027", "0x004e"): ("TPU v2", 8),
    ("0x0027", "0x004f"): ("TPU v3", 16),
    ("0x005e", ""): ("TPU v4", 32),
    ("0x0063", ""): ("TPU v5e", 16),
    ("0x0062", ""): ("TPU v5p", 95),
    ("0x006f", ""): ("TPU v6e", 32),
    ("0x0076", ""): ("TPU7x", 192),
}


def tpus(sysfs: dict[str, str]) -> list[dict[str, Any]]:
    """TPU chips by generation as `{name, count, memory_bytes}`, memory of one chip as published."""
    devices: dict[str, dict[str, str]] = {}
    for path, text in sysfs.items():
        if match := PATH.fullmatch(path):
            devices.setdefault(match[1], {})[match[2]] = text.lower()
    counts = Counter(found for fields in devices.values() if (found := _tpu(fields)))
    return [{"name": name, "count": count, "memory_bytes": gib << 30} for (name, gib), count in counts.items()]


def _tpu(fields: dict[str, str]) -> tuple[str, int] | None:
    if fields.get("vendor") != GOOGLE:
        return None
    device = fields.get("device", "")
    return TPUS.get((device, fields.get("subsystem_device", ""))) or TPUS.get((device, ""))
