"""`system_profiler -json` of macOS: model, memory type and GPUs. Core counts are left to sysctl: their text has four shapes."""

import json
import re
from typing import Any

METAL_KEYS = ("spdisplays_mtlgpufamilysupport", "spdisplays_metalfamily")  # macOS 13 renamed it
METAL_NAME = re.compile(r"(?:spdisplays_)?(?:mtlgpufamily)?([a-z]+)(\d+)")
PHYSICAL_MEMORY = re.compile(r"([0-9]{1,6}) ?(GB|TB|MB)")
UNIT_BYTES = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def section(text: str, name: str) -> list[dict[str, Any]]:
    """The items of one data type such as `SPHardwareDataType`; empty when the text is not that JSON."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = document.get(name) if isinstance(document, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def hardware(text: str) -> dict[str, Any]:
    """`chip_type`, `machine_model`, `physical_memory` ... as the system names them; no chip when asked under Rosetta."""
    return next(iter(section(text, "SPHardwareDataType")), {})


def memory_bytes(item: dict[str, Any]) -> int | None:
    """`physical_memory` such as "16 GB" in bytes."""
    match = PHYSICAL_MEMORY.fullmatch(str(item.get("physical_memory", "")))
    return int(match[1]) * UNIT_BYTES[match[2]] if match else None


def memory_type(text: str) -> str:
    """Such as "LPDDR5", or nothing."""
    return str(next(iter(section(text, "SPMemoryDataType")), {}).get("dimm_type", ""))


def gpus(text: str) -> list[dict[str, Any]]:
    """GPUs as `{name, cores, memory_bytes, metal}`; memory is None where the GPU shares the system's, cores None in a VM."""
    return [_gpu(item) for item in section(text, "SPDisplaysDataType") if _is_gpu(item)]


def _is_gpu(item: dict[str, Any]) -> bool:
    return item.get("sppci_device_type", "spdisplays_gpu") == "spdisplays_gpu" and bool(
        item.get("sppci_model") or item.get("_name")
    )


def _gpu(item: dict[str, Any]) -> dict[str, Any]:
    cores = str(item.get("sppci_cores", ""))
    return {
        "name": str(item.get("sppci_model") or item.get("_name")),
        "cores": int(cores) if re.fullmatch(r"[0-9]{1,5}", cores) else None,
        "memory_bytes": None,
        "metal": _metal(next((str(item[key]) for key in METAL_KEYS if key in item), "")),
    }


def _metal(value: str) -> str:
    """ "spdisplays_metal4" as "Metal 4", "spdisplays_mtlgpufamilyapple7" as "Metal family Apple 7"."""
    match = METAL_NAME.fullmatch(value)
    if match is None:
        return value
    return f"Metal {match[2]}" if match[1] == "metal" else f"Metal family {match[1].capitalize()} {match[2]}"
