"""masked_scatter as a choice: coremltools lacks it (coremltools#2638). The n-th true element takes the source's n-th value."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule


def scattered(constants: Constants, x: Tensor, mask: Tensor, source: Tensor) -> Any:
    mask = mask.expand_as(x)
    places = (mask.reshape(-1).int().cumsum(0) - 1) * mask.reshape(-1).int()
    return torch.where(mask, source.reshape(-1).index_select(0, places).reshape(x.shape), x)


RULES = (Rule((torch.masked_scatter, Tensor.masked_scatter), "masked_scatter as a choice (coremltools#2638)", scattered),)
