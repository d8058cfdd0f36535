"""Cumulative products in log2(n) products of parts: torch's ONNX exporter has no rule for what cumprod decomposes into."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed


def product(constants: Constants, x: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """`torch.cumprod` along a dimension of fixed size."""
    size = fixed(x.shape[dim])
    if size is None or dtype is not None or not x.is_floating_point():
        return NotImplemented
    shift = 1
    while shift < size:
        longer = x.narrow(dim, shift, size - shift) * x.narrow(dim, 0, size - shift)
        x = torch.cat([x.narrow(dim, 0, shift), longer], dim)
        shift *= 2
    return x


RULES = (Rule((torch.cumprod, Tensor.cumprod), "a cumulative product as products of shifted parts", product, ("onnx",)),)
