"""Whether torch computes on CUDA, XPU or a TPU, each proved by an allocation; for the child of `torch_facts` only."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from explorer.hardware.answers import known, missing
from explorer.schemas.readings import Reading

KIB = 1024
CUDA_NAMES = ("cuda", "cuda.version", "cuda.devices")
XPU_NAMES = ("xpu", "xpu.devices")


def cuda() -> dict[str, Reading]:
    """Whether torch computes on a CUDA (or ROCm) device, and on which."""
    torch = import_module("torch")
    version, rocm = torch.version.cuda, torch.version.hip
    if not version and not rocm:
        return dict.fromkeys(CUDA_NAMES, missing("this torch build has no CUDA", "torch", state="unsupported"))
    built = known(version or f"ROCm {rocm}", "torch")
    if not torch.cuda.is_available():
        absent = missing("torch sees no CUDA device or no driver", "torch")
        return {"cuda": absent, "cuda.version": built, "cuda.devices": absent}
    return {"cuda": _proof(torch, "cuda"), "cuda.version": built, "cuda.devices": _devices(torch.cuda)}


def xpu() -> dict[str, Reading]:
    """Whether torch computes on an Intel GPU, and on which."""
    torch = import_module("torch")
    backend = getattr(torch, "xpu", None)
    if not getattr(torch.version, "xpu", None) or backend is None:
        return dict.fromkeys(XPU_NAMES, missing("this torch build has no XPU", "torch", state="unsupported"))
    if not backend.is_available():
        return dict.fromkeys(XPU_NAMES, missing("torch sees no Intel GPU or no driver", "torch"))
    return {"xpu": _proof(torch, "xpu"), "xpu.devices": _devices(backend)}


def tpu() -> dict[str, Reading]:
    """`tpu.torch_xla`: whether torch-xla computes on a TPU. It is not imported unless installed, and may wait for a busy TPU."""
    if find_spec("torch_xla") is None:
        return {"tpu.torch_xla": missing("torch-xla is not installed")}
    kind = import_module("torch_xla.runtime").device_type()
    if kind != "TPU":
        return {"tpu.torch_xla": missing(f"torch-xla computes on {kind}, not on a TPU", "torch-xla")}
    return {"tpu.torch_xla": _proof(import_module("torch"), import_module("torch_xla").device(), "torch-xla")}


def _proof(torch: Any, device: Any, by: str = "torch") -> Reading:
    source = f"1 KiB allocated on the device by {by}"
    total = int(torch.ones(KIB // 4, device=device).sum().item())
    return known(True, source) if total == KIB // 4 else missing("the device gave back other numbers", source)


def _devices(backend: Any) -> Reading:
    return known([_device(backend.get_device_properties(index)) for index in range(backend.device_count())], "torch")


def _device(properties: Any) -> dict[str, Any]:
    major, minor = getattr(properties, "major", None), getattr(properties, "minor", None)
    capability = f"{major}.{minor}" if major is not None else None  # CUDA's; Intel has none
    return {"name": properties.name, "memory_bytes": properties.total_memory, "capability": capability}
