"""The GPUs of a Linux machine and what torch can use each through: NVIDIA's by its driver, AMD's and Intel's by sysfs.

PCI classes and vendors are those of the PCI ID repository; the properties of AMD's compute nodes are listed in the kernel's
drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from explorer.hardware import device_files, nvidia, pci
from explorer.hardware.answers import found, known, missing
from explorer.schemas.readings import Reading

VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
DISPLAY_CLASSES = ("0x0300", "0x0302", "0x0380")  # VGA, 3D, other
ACCELERATOR_CLASS = "0x1200"  # AMD Instinct; Intel's devices of this class are NPUs
# Vendors of displays that do not compute: virtual machines and server management chips.
DISPLAYS = {
    "0x1013": "Cirrus",
    "0x102b": "Matrox",
    "0x1234": "Bochs",
    "0x1414": "Hyper-V",
    "0x15ad": "VMware",
    "0x1a03": "ASPEED",
    "0x1ab8": "Parallels",
    "0x1af4": "virtio",
    "0x1b36": "QXL",
    "0x80ee": "VirtualBox",
}
NODE = re.compile(r"/sys/class/kfd/kfd/topology/nodes/[^/]+/properties")
PROPERTY = re.compile(r"^(\w+) (\d{1,18})$", re.MULTILINE)


def read(sysfs: Mapping[str, str], files: Collection[str]) -> dict[str, Reading]:
    """`gpu` and `gpu.driver` of this machine; `sysfs` holds the files of `pci.PATTERNS`, `files` the names of `device_files`."""
    return readings(nvidia.reading(), sysfs, files)


def readings(by_driver: Reading, sysfs: Mapping[str, str], files: Collection[str]) -> dict[str, Reading]:
    """`gpu` and `gpu.driver`; `by_driver` holds what NVIDIA's own tools told and stands for its GPUs when they told any."""
    told: list[dict[str, Any]] = by_driver.value or []
    others = [row for row in of_sysfs(sysfs, files) if not (told and row["vendor"] == "NVIDIA")]
    if rows := [*told, *others]:
        sources = [by_driver.source] * bool(told) + ["sysfs"] * bool(others)
        return {"gpu": known(rows, " and ".join(sources)), "gpu.driver": found(_drivers(rows), "NVML or sysfs", "no GPU driver")}
    absent = missing(_why_none(by_driver.reason, sysfs, files), by_driver.source)
    return {"gpu": absent, "gpu.driver": absent}


def of_sysfs(sysfs: Mapping[str, str], files: Collection[str]) -> list[dict[str, Any]]:
    """GPUs on the PCI bus as `{vendor, name, cores, memory_bytes, pci, driver, usable_through}`; `cores` are compute units."""
    nodes = _compute_nodes(sysfs)
    return [
        _row(address, fields, nodes.get(address, {}), files) for address, fields in pci.devices(sysfs).items() if _is_gpu(fields)
    ]


def _is_gpu(fields: Mapping[str, str]) -> bool:
    kind = fields.get("class", "")[:6]
    accelerator = kind == ACCELERATOR_CLASS and fields.get("vendor") == "0x1002"
    return fields.get("vendor") in VENDORS and (kind in DISPLAY_CLASSES or accelerator)


def _row(address: str, fields: Mapping[str, str], node: Mapping[str, int], files: Collection[str]) -> dict[str, Any]:
    vendor, driver, memory = VENDORS[fields["vendor"]], fields["driver"], fields.get("mem_info_vram_total", "")
    simds, simds_per_core = node.get("simd_count", 0), node.get("simd_per_cu", 0)
    return {
        "vendor": vendor,
        "name": _name(vendor, fields, node),
        "cores": simds // simds_per_core if simds_per_core else None,
        "memory_bytes": int(memory) if re.fullmatch("[0-9]{1,18}", memory) else None,
        "pci": address,
        "driver": driver or None,
        "usable_through": USABLE[vendor](driver, bool(node), files) if driver != "vfio-pci" else PASSED_ON,
    }


def _name(vendor: str, fields: Mapping[str, str], node: Mapping[str, int]) -> str:
    if vendor == "NVIDIA" and not fields["driver"].startswith("nvidia"):
        return "NVIDIA GPU without a driver"
    name = fields.get("product_name", "").strip() or f"{vendor} GPU {fields.get('device', '')}".strip()
    return f"{name} ({_target(node['gfx_target_version'])})" if node.get("gfx_target_version") else name


def _target(version: int) -> str:
    """The compiler's name of an AMD GPU: 110000 is gfx1100 and 90010 is gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _compute_nodes(sysfs: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Properties of the GPUs that AMD's compute driver lists, by PCI address."""
    nodes: dict[str, dict[str, int]] = {}
    for path, text in sysfs.items():
        if NODE.fullmatch(path):
            node = {name: int(value) for name, value in PROPERTY.findall(text)}
            if node.get("simd_count"):
                nodes[_address(node.get("domain", 0), node.get("location_id", 0))] = node
    return nodes


def _address(domain: int, location: int) -> str:
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7:x}"


PASSED_ON = "nothing: it is kept for a virtual machine (driver vfio-pci)"


def _nvidia_use(driver: str, _: bool, files: Collection[str]) -> str:
    if not driver.startswith("nvidia"):
        return f"nothing until NVIDIA's driver is loaded (now {driver or 'none'})"
    if not device_files.has(files, "nvidia[0-9]*"):
        return "nothing: there is no /dev/nvidia*, as in a container without it"
    return "torch's CUDA build, if NVML answers"


def _amd_use(driver: str, listed: bool, files: Collection[str]) -> str:
    if driver != "amdgpu":
        return f"nothing until the amdgpu driver is loaded (now {driver or 'none'})"
    if "kfd" not in files or not device_files.has(files, "dri/renderD*"):
        return "nothing: there is no /dev/kfd or /dev/dri, as in a container without them"
    return "torch's ROCm build" if listed else "nothing: AMD's compute driver does not list it"


def _intel_use(driver: str, _: bool, files: Collection[str]) -> str:
    if driver not in ("i915", "xe"):
        return f"nothing until the i915 or xe driver is loaded (now {driver or 'none'})"
    if not device_files.has(files, "dri/renderD*"):
        return "nothing: there is no /dev/dri, as in a container without it"
    return "torch's XPU build, if it is an Arc, Data Center Max or Core Ultra GPU"


USABLE = {"NVIDIA": _nvidia_use, "AMD": _amd_use, "Intel": _intel_use}


def _drivers(rows: list[dict[str, Any]]) -> str:
    told = [(row["vendor"], row["driver"], row.get("cuda")) for row in rows if row["driver"]]
    texts = [f"{vendor} {driver}" + (f" (CUDA {cuda})" if cuda else "") for vendor, driver, cuda in told]
    return ", ".join(dict.fromkeys(texts))


def _why_none(reason: str, sysfs: Mapping[str, str], files: Collection[str]) -> str:
    parts = [reason] if device_files.has(files, "nvidia*", "dxg") else [reason, "no /dev/nvidia*"]
    displays = [fields for fields in pci.devices(sysfs).values() if fields.get("class", "").startswith("0x03")]
    names = sorted({DISPLAYS.get(fields.get("vendor", ""), "unknown") for fields in displays})
    return "; ".join([*parts, "no AMD or Intel GPU on the PCI bus", *(f"the {name} display does not compute" for name in names)])
