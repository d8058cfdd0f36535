"""gelu by its tanh formula: exported, coremltools drops `approximate` and computes the exact one, 4e-4 off."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule


def gelu(constants: Constants, x: Tensor, approximate: str = "none", **named: Any) -> Any:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as torch defines it."""
    if approximate != "tanh":
        return NotImplemented
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + torch.tanh(inner))


RULES = (Rule((F.gelu,), "gelu by its tanh formula in plain arithmetic", gelu),)
