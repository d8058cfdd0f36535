"""Mixed precision through torch.amp, refused where torch would silently ignore it."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from explorer.errors import ExplorerError
from explorer.schemas.choices import Precision

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Amp:
    """`autocast` wraps the forward pass; `scaler` is there for float16 alone, whose gradients would vanish without it."""

    autocast: AbstractContextManager[object]
    scaler: torch.amp.GradScaler | None


def make_amp(precision: Precision, device: str) -> Amp:
    """The context and scaler for a precision. Raises when the device does not really compute in it."""
    if precision == "float32":
        return Amp(nullcontext(), None)
    autocast = torch.autocast(device, dtype=DTYPES[precision])
    if _computed_dtype(autocast, device) != DTYPES[precision]:
        raise ExplorerError(f"{device} does not compute in {precision} here", "use precision float32")
    return Amp(autocast, torch.amp.GradScaler(device) if precision == "float16" else None)


def _computed_dtype(autocast: AbstractContextManager[object], device: str) -> torch.dtype | None:
    """The dtype of a small product under autocast; None when the device refuses it."""
    probe = torch.ones(2, 2, device=device)
    try:
        with autocast:
            return (probe @ probe).dtype
    except RuntimeError:
        return None
