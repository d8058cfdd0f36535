"""NVIDIA GPUs: through NVML when its bindings and driver are there, or from the text of `nvidia-smi -q -x`."""

import re
import shutil
from typing import Any
from xml.etree import ElementTree

from explorer.hardware.answers import found
from explorer.hardware.readers import UNREAD, output_of
from explorer.schemas.readings import Reading

SIZE = re.compile(r"([0-9]{1,9}) MiB")
SMI_COMMAND = ("nvidia-smi", "-q", "-x")


class NvmlAbsent(Exception):
    """NVML cannot be used here; the message says why."""


def reading() -> Reading:
    """The `gpu` reading of this machine's NVIDIA GPUs: by NVML, or by `nvidia-smi` when the bindings are not installed."""
    try:
        return found(from_nvml(start()), "NVML", "NVML shows no GPU")
    except NvmlAbsent as error:
        text = output_of(SMI_COMMAND) if shutil.which(SMI_COMMAND[0]) else UNREAD
        return found(from_smi_xml(text.text), " ".join(SMI_COMMAND), f"no NVIDIA GPU ({error})")


def start() -> Any:
    """The `pynvml` module, initialised. Raises `NvmlAbsent`."""
    try:
        import pynvml  # optional, and slow to import
    except ImportError:
        raise NvmlAbsent("nvidia-ml-py is not installed") from None
    try:
        pynvml.nvmlInit()
    except Exception as error:  # the bindings raise a class per code
        raise NvmlAbsent(f"NVML: {error}") from None
    return pynvml


def from_nvml(nvml: Any) -> list[dict[str, Any]]:
    """GPUs as `{name, cores, memory_bytes, mig}`; a field that this GPU does not tell is None."""
    return [_nvml_gpu(nvml, device) for device in devices(nvml)]


def devices(nvml: Any) -> list[Any]:
    """NVML handles of the GPUs that this process may see."""
    handles = [told(nvml, "nvmlDeviceGetHandleByIndex", index) for index in range(told(nvml, "nvmlDeviceGetCount") or 0)]
    return [handle for handle in handles if handle is not None]


def told(nvml: Any, function: str, *arguments: Any) -> Any:
    """An NVML answer, or None: fields are refused one by one (MIG, WSL, containers, older bindings)."""
    try:
        return getattr(nvml, function)(*arguments)
    except Exception:  # the bindings raise a class per code
        return None


def _nvml_gpu(nvml: Any, device: Any) -> dict[str, Any]:
    memory, mig = told(nvml, "nvmlDeviceGetMemoryInfo", device), told(nvml, "nvmlDeviceGetMigMode", device)
    return {
        "name": _text(told(nvml, "nvmlDeviceGetName", device) or "NVIDIA GPU"),
        "cores": told(nvml, "nvmlDeviceGetNumGpuCores", device),
        "memory_bytes": int(memory.total) if memory else None,
        "mig": bool(mig[0]) if mig else None,
    }


def from_smi_xml(text: str) -> list[dict[str, Any]]:
    """GPUs as `from_nvml` gives them, each with its `mig_devices` count; empty when the text is not that XML."""
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError):
        return []
    return [_gpu(node) for node in root.findall("gpu")]


def _gpu(node: ElementTree.Element) -> dict[str, Any]:
    size = SIZE.fullmatch(node.findtext("fb_memory_usage/total", ""))
    mig = node.findtext("mig_mode/current_mig", "")
    return {
        "name": node.findtext("product_name", "NVIDIA GPU"),
        "cores": None,
        "memory_bytes": int(size[1]) << 20 if size else None,
        "mig": mig == "Enabled" if mig in ("Enabled", "Disabled") else None,
        "mig_devices": len(node.findall("mig_devices/mig_device")),
    }


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
