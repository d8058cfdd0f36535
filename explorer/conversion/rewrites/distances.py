"""Distances between rows as the norm of their differences: neither converter has cdist (coremltools#2198)."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import BOTH, Constants, Rule


def distances(constants: Constants, x: Tensor, y: Tensor, p: float = 2.0, compute_mode: Any = None) -> Any:
    """`torch.cdist` of (..., rows, width) and (..., others, width) for the usual norms."""
    differences = x.unsqueeze(-2) - y.unsqueeze(-3)
    if p == 1.0:
        return differences.abs().sum(-1)
    return torch.sqrt((differences * differences).sum(-1)) if p == 2.0 else NotImplemented


RULES = (Rule((torch.cdist,), "cdist as the norm of differences (coremltools#2198)", distances, BOTH),)
