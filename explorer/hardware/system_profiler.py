"""`system_profiler` of macOS, as JSON or as text: model, memory type and GPUs. Core counts are left to `sysctl`."""

import json
import re
from collections.abc import Sequence
from typing import Any

from explorer.hardware import core_tiers

METAL_KEYS = ("spdisplays_mtlgpufamilysupport", "spdisplays_metalfamily")  # macOS 13 renamed it
METAL_NAME = re.compile(r"(?:spdisplays_)?(?:mtlgpufamily)?([a-z]+)(\d+)")
METAL_TEXT = re.compile(r"(?:Supported, Metal GPUFamily )?(\w+) (\d+)")  # "Supported, Metal GPUFamily Apple 7", "Metal 3"
PHYSICAL_MEMORY = re.compile(r"([0-9]{1,6}) ?(GB|TB|MB)")
UNIT_BYTES = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
VENDOR = re.compile(r"(?:sppci_vendor_)?(apple|nvidia|amd|ati|intel)\b", re.IGNORECASE)
VENDORS = {"apple": "Apple", "nvidia": "NVIDIA", "amd": "AMD", "ati": "AMD", "intel": "Intel"}
# Headings and fields of the text form, under the names of the JSON form.
HEADINGS = {"Hardware": "SPHardwareDataType", "Memory": "SPMemoryDataType", "Graphics/Displays": "SPDisplaysDataType"}
FIELDS = {
    "SPHardwareDataType": {
        "Model Identifier": "machine_model",
        "Chip": "chip_type",
        "Processor Name": "cpu_type",
        "Total Number of Cores": "number_processors",
        "Memory": "physical_memory",
    },
    "SPMemoryDataType": {"Type": "dimm_type"},
    "SPDisplaysDataType": {
        "Chipset Model": "sppci_model",
        "Total Number of Cores": "sppci_cores",
        "Vendor": "spdisplays_vendor",
        "VRAM (Total)": "spdisplays_vram",
        "Metal Family": "spdisplays_metalfamily",
        "Metal Support": "spdisplays_mtlgpufamilysupport",
    },
}


def section(text: str, name: str) -> list[dict[str, Any]]:
    """The items of one data type such as `SPHardwareDataType`; empty when the text holds none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _text_section(text, name)
    items = document.get(name) if isinstance(document, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _text_section(text: str, name: str) -> list[dict[str, Any]]:
    """From the text form: headings stand at the margin, and a GPU starts at its chipset's name."""
    items: list[dict[str, Any]] = [{}]
    heading = ""
    for line in text.splitlines():
        field, found, value = line.strip().partition(":")
        if found and not value.strip():
            heading = HEADINGS.get(field, "") if line[:1].strip() else heading
        elif heading == name and (key := FIELDS[name].get(field)):
            if key == "sppci_model" and items[-1]:
                items.append({})
            items[-1].setdefault(key, value.strip())
    return [item for item in items if item]


def merged(texts: Sequence[str]) -> str:
    """One JSON text of several outputs: the first that tells a field of the hardware or memory counts, and the first with GPUs.

    Of the core counts the one with the finest split counts: under Rosetta the system tells their sum only.
    """
    document: dict[str, list[dict[str, Any]]] = {}
    for name in ("SPHardwareDataType", "SPMemoryDataType"):
        items = [item for text in texts for item in section(text, name)[:1]]
        document[name] = [{key: value for item in reversed(items) for key, value in item.items()}] if items else []
        if counts := [item["number_processors"] for item in items if "number_processors" in item]:
            document[name][0]["number_processors"] = max(counts, key=lambda count: len(core_tiers.of_profile(str(count))))
    screens = (section(text, "SPDisplaysDataType") for text in texts)
    document["SPDisplaysDataType"] = next((items for items in screens if any(map(_is_gpu, items))), [])
    return json.dumps(document)


def hardware(text: str) -> dict[str, Any]:
    """`chip_type`, `machine_model`, `physical_memory` ... as the system names them; no chip when asked under Rosetta."""
    return next(iter(section(text, "SPHardwareDataType")), {})


def memory_bytes(item: dict[str, Any]) -> int | None:
    """`physical_memory` such as "16 GB" in bytes."""
    return _size_bytes(item.get("physical_memory"))


def _size_bytes(value: Any) -> int | None:
    match = PHYSICAL_MEMORY.fullmatch(str(value))
    return int(match[1]) * UNIT_BYTES[match[2]] if match else None


def memory_type(text: str) -> str:
    """Such as "LPDDR5", or nothing."""
    return str(next(iter(section(text, "SPMemoryDataType")), {}).get("dimm_type", ""))


def gpus(text: str) -> list[dict[str, Any]]:
    """GPUs as `{name, vendor, cores, memory_bytes, metal}`; memory is None where it is the system's, cores None in a VM."""
    return [_gpu(item) for item in section(text, "SPDisplaysDataType") if _is_gpu(item)]


def _is_gpu(item: dict[str, Any]) -> bool:
    return item.get("sppci_device_type", "spdisplays_gpu") == "spdisplays_gpu" and bool(
        item.get("sppci_model") or item.get("_name")
    )


def _gpu(item: dict[str, Any]) -> dict[str, Any]:
    cores, vendor = str(item.get("sppci_cores", "")), VENDOR.match(str(item.get("spdisplays_vendor", "")))
    return {
        "name": str(item.get("sppci_model") or item.get("_name")),
        "vendor": VENDORS[vendor[1].lower()] if vendor else None,
        "cores": int(cores) if re.fullmatch(r"[0-9]{1,5}", cores) else None,
        "memory_bytes": _size_bytes(item.get("spdisplays_vram")),
        "metal": _metal(next((str(item[key]) for key in METAL_KEYS if key in item), "")),
    }


def _metal(value: str) -> str:
    """ "spdisplays_metal4" as "Metal 4", "spdisplays_mtlgpufamilyapple7" as "Metal family Apple 7"; the text form likewise."""
    match = METAL_NAME.fullmatch(value) or METAL_TEXT.fullmatch(value)
    if match is None:
        return value
    return f"Metal {match[2]}" if match[1].lower() == "metal" else f"Metal family {match[1].capitalize()} {match[2]}"
