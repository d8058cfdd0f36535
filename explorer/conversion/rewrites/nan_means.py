"""nanmean and nansum as sums of what is a number: coremltools has neither."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule


def nan_sum(constants: Constants, x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        return NotImplemented
    return _numbers(x).sum(dim, keepdim=keepdim)


def nan_mean(constants: Constants, x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None:
        return NotImplemented
    return _numbers(x).sum(dim, keepdim=keepdim) / (x == x).to(x.dtype).sum(dim, keepdim=keepdim)


def _numbers(x: Tensor) -> Tensor:
    """Zeros for NaN, the one value that differs from itself."""
    return torch.where(x == x, x, 0.0)


RULES = (
    Rule((torch.nansum, Tensor.nansum), "nansum as a sum of numbers", nan_sum),
    Rule((torch.nanmean, Tensor.nanmean), "nanmean as a mean of numbers", nan_mean),
)
