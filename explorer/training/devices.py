"""Which device trains, and why that one."""

import torch

from explorer.errors import ExplorerError
from explorer.schemas.choices import Device
from explorer.training import device_xla

BETTER_THAN_CPU = ("mps", "cuda", "xla")
LABELS = {"mps": "MPS", "cuda": "CUDA", "xla": "XLA", "cpu": "the CPU"}
# What torch's process groups, gloo and nccl, can exchange gradients of.
DATA_PARALLEL = ("cpu", "cuda")


def choose(device: Device, *, processes: int = 1) -> tuple[str, str]:
    """The kind of device and why. "auto" takes MPS, then CUDA, then XLA, then the CPU; raises when a named one is unavailable.

    With several `processes`, only devices whose gradients they can exchange.
    """
    if device != "auto":
        _refuse_unless_usable(device, processes)
        return device, f"{LABELS[device]}, as asked"
    passed: list[str] = []
    for kind in BETTER_THAN_CPU:
        if kind == "xla" and not device_xla.installed():
            continue
        why = _no_data_parallel(kind, processes) or unavailable(kind) or _only_a_cpu(kind)
        if not why:
            return kind, _with_reasons(kind, passed)
        passed.append(f"no {LABELS[kind]}: {why}")
    return "cpu", _with_reasons("cpu", passed)


def unavailable(kind: str) -> str:
    """Why torch cannot use the device here; empty when it can."""
    if kind == "mps":
        return _mps_unavailable() or failure_of_first_tensor(kind)
    if kind == "cuda":
        return _cuda_unavailable() or failure_of_first_tensor(kind)
    if kind == "xla":
        if not device_xla.installed():
            return "torch_xla is not installed"
        return "" if device_xla.device_type() else "torch_xla finds no device"
    return ""


def failure_of_first_tensor(kind: str) -> str:
    """What goes wrong at the first computation; some virtual machines and old GPUs call themselves available all the same."""
    try:
        (torch.ones(1, device=kind) + 1).item()
    except (RuntimeError, AssertionError) as error:
        return f"it fails at its first tensor ({' '.join(str(error).split())[:120]})"
    return ""


def _mps_unavailable() -> str:
    if not torch.backends.mps.is_built():
        return "this torch is built without it"
    return "" if torch.backends.mps.is_available() else "needs macOS 14 or newer on a Mac with a Metal GPU"


def _cuda_unavailable() -> str:
    if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
        return "this torch is built without it"
    return "" if torch.cuda.is_available() else "no usable GPU or driver"


def _only_a_cpu(kind: str) -> str:
    return "torch_xla has only the CPU here" if kind == "xla" and device_xla.device_type() == "CPU" else ""


def _no_data_parallel(kind: str, processes: int) -> str:
    return "gloo and nccl cannot exchange its gradients" if processes > 1 and kind not in DATA_PARALLEL else ""


def _refuse_unless_usable(device: str, processes: int) -> None:
    if why := unavailable(device):
        remedy = device_xla.INSTALL if device == "xla" else "use device auto or cpu"
        raise ExplorerError(f"device {device} is not available: {why}", remedy)
    if why := _no_data_parallel(device, processes):
        raise ExplorerError(
            f"device {device} takes no part in data parallel training: {why}", "use one process, or device cpu with gloo"
        )


def _with_reasons(kind: str, passed: list[str]) -> str:
    return f"{LABELS[kind]} ({'; '.join(passed)})" if passed else LABELS[kind]
