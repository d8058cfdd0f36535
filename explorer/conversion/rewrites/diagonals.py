"""A diagonal as an index into the flattened matrix: exported, coremltools gives a whole matrix instead (coremltools#2565)."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed


def diagonal(constants: Constants, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """`torch.diagonal` of a matrix of fixed size; the diagonal is the last dimension."""
    height, width = fixed(x.shape[dim1]), fixed(x.shape[dim2])
    if height is None or width is None:
        return NotImplemented
    key = f"diagonal_{height}_{width}_{offset}".replace("-", "_below_")
    places = constants.get(key, lambda: torch.arange(height * width).reshape(height, width).diagonal(offset))
    if places is None:
        return NotImplemented
    flat = x.movedim((dim1, dim2), (-2, -1)).flatten(-2)
    return flat.index_select(flat.ndim - 1, places)


RULES = (Rule((torch.diagonal, Tensor.diagonal), "a diagonal as an index (coremltools#2565)", diagonal),)
