"""Adaptive max pooling as the largest of each slice: dynamo's ONNX exporter has no rule for it (see pytorch#68003)."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import BOTH, Constants, Rule, fixed


def adaptive_max(constants: Constants, x: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`F.adaptive_max_pool2d` of (..., height, width), one axis after the other."""
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    for axis, count in zip((-2, -1), wanted, strict=True):
        size = fixed(x.shape[axis])
        if size is None or return_indices:
            return NotImplemented
        if count is not None:
            x = torch.cat([_largest(x, axis, at * size // count, -(-(at + 1) * size // count)) for at in range(count)], axis)
    return x


def _largest(x: Tensor, axis: int, start: int, end: int) -> Tensor:
    return x.narrow(axis, start, end - start).amax(axis, keepdim=True)


RULES = (Rule((F.adaptive_max_pool2d,), "adaptive max pooling as slices (pytorch#68003)", adaptive_max, BOTH),)
