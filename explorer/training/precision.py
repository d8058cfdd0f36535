"""Mixed precision through torch.amp, refused where torch would silently ignore it."""

import platform
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from explorer.errors import ExplorerError
from explorer.schemas.choices import Precision

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
REMEDY = "use precision float32"
# Metal computes in bfloat16 from this version of macOS on (pytorch issue 139390).
MPS_BFLOAT16_MACOS = 14


@dataclass(frozen=True)
class Amp:
    """`autocast` wraps the forward pass; `scaler` is there for float16 alone, whose gradients would vanish without it."""

    autocast: AbstractContextManager[object]
    scaler: torch.amp.GradScaler | None


def make_amp(precision: Precision, device: str) -> Amp:
    """The context and scaler for a precision on a device such as "cpu" or "cuda:0".

    Raises when the device does not really compute in it; torch itself would warn at most and train in float32.
    """
    if precision == "float32":
        return Amp(nullcontext(), None)
    if device == "mps" and precision == "bfloat16" and 0 < macos_version() < MPS_BFLOAT16_MACOS:
        raise ExplorerError(f"bfloat16 on MPS needs macOS {MPS_BFLOAT16_MACOS} or newer", "use precision float16 or float32")
    autocast = checked_autocast(DTYPES[precision], device)
    return Amp(autocast, _checked_scaler(device) if precision == "float16" else None)


def checked_autocast(dtype: torch.dtype, device: str) -> torch.autocast:
    """torch's autocast, after a product under it really came out in `dtype`; raises when it did not."""
    name = str(dtype).removeprefix("torch.")
    try:
        with warnings.catch_warnings():
            # torch says so when it disables autocast; the product shows the same, also where it says nothing.
            warnings.filterwarnings("ignore", message=".*Disabling autocast", category=UserWarning)
            autocast = torch.autocast(torch.device(device).type, dtype=dtype)
        computed = _computed_dtype(autocast, device)
    except (RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())[:160]
        raise ExplorerError(f"{device} does not compute in {name} here ({reason})", REMEDY) from None
    if computed != dtype:
        was = str(computed).removeprefix("torch.")
        raise ExplorerError(f"{device} does not compute in {name} here, a product under autocast came out in {was}", REMEDY)
    return autocast


def macos_version() -> int:
    """The major version of macOS; 0 elsewhere."""
    return int(platform.mac_ver()[0].partition(".")[0] or 0)


def _checked_scaler(device: str) -> torch.amp.GradScaler:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*GradScaler is enabled, but", category=UserWarning)
        scaler = torch.amp.GradScaler(torch.device(device).type)
    if not scaler.is_enabled():
        raise ExplorerError(f"torch scales no gradients on {device} here, and those of float16 would vanish", REMEDY)
    return scaler


def _computed_dtype(autocast: AbstractContextManager[object], device: str) -> torch.dtype:
    """The dtype of a small product under autocast."""
    probe = torch.ones(2, 2, device=device)
    with autocast:
        return (probe @ probe).dtype
