"""PCI devices of Linux sysfs, and which of them are Google TPUs."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from explorer.hardware import device_files
from explorer.hardware.answers import known, missing
from explorer.schemas.readings import Reading

FIELDS = ("vendor", "device", "subsystem_device", "class", "uevent", "mem_info_vram_total", "product_name")
# The second folder is where the ROCm driver lists the GPUs that it computes on.
PATTERNS = (*(f"bus/pci/devices/*/{field}" for field in FIELDS), "class/kfd/kfd/topology/nodes/*/properties")
PATH = re.compile(rf"/sys/bus/pci/devices/([^/]+)/({'|'.join(FIELDS)})")
DRIVER = re.compile(r"^DRIVER=(\S+)$", re.MULTILINE)
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


def devices(sysfs: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The files of `FIELDS` of each device by its address, numbers in lower case, and its kernel `driver` ("" when none)."""
    found: dict[str, dict[str, str]] = {}
    for path, text in sysfs.items():
        if match := PATH.fullmatch(path):
            field = match[2]
            found.setdefault(match[1], {})[field] = text if field in ("uevent", "product_name") else text.lower()
    for fields in found.values():
        driver = DRIVER.search(fields.get("uevent", ""))
        fields["driver"] = driver[1] if driver else ""
    return dict(sorted(found.items()))


def tpus(sysfs: Mapping[str, str]) -> list[dict[str, Any]]:
    """TPU chips by generation as `{name, count, memory_bytes}`, memory of one chip as published."""
    counts = Counter(found for fields in devices(sysfs).values() if (found := _tpu(fields)))
    return [{"name": name, "count": count, "memory_bytes": gib << 30} for (name, gib), count in counts.items()]


def tpu(sysfs: Mapping[str, str], files: Collection[str]) -> Reading:
    """The `tpu` reading; `files` are device files: /dev/accel* up to v5p, /dev/vfio/* from v5e on."""
    if not (rows := tpus(sysfs)):
        return missing("no Google TPU on the PCI bus", "PCI")
    if device_files.has(files, "accel[0-9]*", "vfio/[0-9]*"):
        return known(rows, "PCI")
    return known(rows, "PCI", reason="not usable from here: this process sees no /dev/accel* and no /dev/vfio/*")


def _tpu(fields: Mapping[str, str]) -> tuple[str, int] | None:
    if fields.get("vendor") != GOOGLE:
        return None
    device = fields.get("device", "")
    return TPUS.get((device, fields.get("subsystem_device", ""))) or TPUS.get((device, ""))
