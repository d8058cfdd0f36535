"""Which device trains, and why that one."""

import torch

from explorer.errors import ExplorerError
from explorer.schemas.choices import Device

LABELS = {"mps": "MPS", "cuda": "CUDA", "cpu": "the CPU"}


def choose(device: Device) -> tuple[str, str]:
    """The torch device name and a sentence why. "auto" takes MPS, then CUDA, then CPU; raises when a named one is unavailable."""
    missing = {name: why for name in ("mps", "cuda") if (why := unavailable(name))}
    if device != "auto":
        if device in missing:
            raise ExplorerError(f"device {device} is not available: {missing[device]}", "use device auto or cpu")
        return device, f"{LABELS[device]}, as asked"
    best = next((name for name in ("mps", "cuda") if name not in missing), "cpu")
    reasons = "; ".join(f"no {LABELS[name]}: {why}" for name, why in missing.items() if best == "cpu" or name == "mps")
    return best, f"{LABELS[best]} ({reasons})" if reasons else LABELS[best]


def unavailable(name: str) -> str:
    """Why torch cannot use the device here; empty when it can."""
    if name == "mps":
        if not torch.backends.mps.is_built():
            return "this torch is built without MPS"
        return "" if torch.backends.mps.is_available() else "needs macOS 12.3 or newer on a Mac with a Metal GPU"
    if name == "cuda":
        if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call]
            return "this torch is built without CUDA"
        return "" if torch.cuda.is_available() else "no usable GPU or driver"
    return ""
