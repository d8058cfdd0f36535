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
MAX_MIG_DEVICES = 32  # NVML tells 7 or 8; a bound against nonsense


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
    """GPUs as rows; a field that this GPU does not tell is None.

    `{vendor, name, cores, memory_bytes, capability, pci, driver, cuda, mig, mig_devices, mig_instances, usable_through}`:
    `cuda` is the newest CUDA that the driver runs, `mig_devices` counts the `mig_instances`, each
    `{name, memory_bytes, multiprocessors, slices}` with `slices` of the GPU's seven.
    """
    return [_nvml_gpu(nvml, device) for device in devices(nvml)]


def devices(nvml: Any) -> list[Any]:
    """NVML handles of the GPUs that this process may see."""
    handles = [told(nvml, "nvmlDeviceGetHandleByIndex", index) for index in range(told(nvml, "nvmlDeviceGetCount") or 0)]
    return [handle for handle in handles if handle is not None]


def mig_handles(nvml: Any, device: Any) -> list[Any]:
    """NVML handles of a GPU's MIG devices; their indices may have gaps."""
    most = min(told(nvml, "nvmlDeviceGetMaxMigDeviceCount", device) or 0, MAX_MIG_DEVICES)
    handles = [told(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", device, index) for index in range(most)]
    return [handle for handle in handles if handle is not None]


def told(nvml: Any, function: str, *arguments: Any) -> Any:
    """An NVML answer, or None: fields are refused one by one (MIG, WSL, containers, older bindings)."""
    try:
        return getattr(nvml, function)(*arguments)
    except Exception:  # the bindings raise a class per code
        return None


def _nvml_gpu(nvml: Any, device: Any) -> dict[str, Any]:
    mig, pci = told(nvml, "nvmlDeviceGetMigMode", device), told(nvml, "nvmlDeviceGetPciInfo", device)
    capability = told(nvml, "nvmlDeviceGetCudaComputeCapability", device)
    cuda = told(nvml, "nvmlSystemGetCudaDriverVersion")  # 1000 x major + 10 x minor
    return _row(
        name=_text(told(nvml, "nvmlDeviceGetName", device)),
        cores=told(nvml, "nvmlDeviceGetNumGpuCores", device),
        memory_bytes=_total(told(nvml, "nvmlDeviceGetMemoryInfo", device)),
        capability=f"{capability[0]}.{capability[1]}" if capability else None,
        pci=_text(pci.busId) if pci else None,
        driver=_text(told(nvml, "nvmlSystemGetDriverVersion")),
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        mig=bool(mig[0]) if mig else None,
        mig_instances=[_nvml_mig(nvml, handle) for handle in mig_handles(nvml, device)] if mig and mig[0] else [],
    )


def _nvml_mig(nvml: Any, handle: Any) -> dict[str, Any]:
    attributes = told(nvml, "nvmlDeviceGetAttributes_v2", handle)
    return {
        "name": _text(told(nvml, "nvmlDeviceGetName", handle)),
        "memory_bytes": _total(told(nvml, "nvmlDeviceGetMemoryInfo", handle)),
        "multiprocessors": int(attributes.multiprocessorCount) if attributes else None,
        "slices": int(attributes.gpuInstanceSliceCount) if attributes else None,
    }


def from_smi_xml(text: str) -> list[dict[str, Any]]:
    """GPUs as `from_nvml` gives them; empty when the text is not that XML."""
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError):
        return []
    driver, cuda = _told_text(root, "driver_version"), _told_text(root, "cuda_version")
    return [_smi_gpu(node, driver, cuda) for node in root.findall("gpu")]


def _smi_gpu(node: ElementTree.Element, driver: str | None, cuda: str | None) -> dict[str, Any]:
    mig = node.findtext("mig_mode/current_mig", "")
    return _row(
        name=_told_text(node, "product_name"),
        cores=None,
        memory_bytes=_smi_total(node),
        capability=None,
        pci=_told_text(node, "pci/pci_bus_id"),
        driver=driver,
        cuda=cuda,
        mig=mig == "Enabled" if mig in ("Enabled", "Disabled") else None,
        mig_instances=[_smi_mig(part) for part in node.findall("mig_devices/mig_device")],
    )


def _smi_mig(node: ElementTree.Element) -> dict[str, Any]:
    count = node.findtext("device_attributes/shared/multiprocessor_count", "")
    return {
        "name": None,
        "memory_bytes": _smi_total(node),
        "multiprocessors": int(count) if re.fullmatch("[0-9]{1,6}", count) else None,
        "slices": None,
    }


def _row(*, name: str | None, mig: bool | None, mig_instances: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    usable = "torch's CUDA build"
    if mig:
        usable += ", one MIG device a process" if mig_instances else ", once a MIG device is made: MIG is on and has none"
    return {
        "vendor": "NVIDIA",
        "name": name or "NVIDIA GPU",
        **fields,
        "mig": mig,
        "mig_devices": len(mig_instances),
        "mig_instances": mig_instances,
        "usable_through": usable,
    }


def _smi_total(node: ElementTree.Element) -> int | None:
    size = SIZE.fullmatch(node.findtext("fb_memory_usage/total", ""))
    return int(size[1]) << 20 if size else None


def _told_text(node: ElementTree.Element, path: str) -> str | None:
    text = node.findtext(path, "").strip()
    return None if text in ("", "N/A") else text


def _total(memory: Any) -> int | None:
    return int(memory.total) if memory else None


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return None if value is None else str(value)
