"""fold of overlapping patches as a transposed convolution: coremltools takes patches side by side only (coremltools#1912)."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed


def folded(
    constants: Constants, x: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """`F.fold` of (batch, channels x kernel elements, patches); each channel's patch element is a kernel with a single one."""
    size, kernel, spread, pad, step = (_pair(item) for item in (output_size, kernel_size, dilation, padding, stride))
    elements = kernel[0] * kernel[1]
    wide = fixed(x.shape[-2])
    if x.ndim != 3 or wide is None or (step[0] >= kernel[0] and step[1] >= kernel[1]):
        return NotImplemented
    ones = constants.get(f"fold_{wide}_{kernel[0]}_{kernel[1]}", partial(_kernels, wide // elements, kernel))
    if ones is None:
        return NotImplemented
    reach = [size[at] + 2 * pad[at] - spread[at] * (kernel[at] - 1) - 1 for at in (0, 1)]
    patches = x.reshape(*x.shape[:2], reach[0] // step[0] + 1, reach[1] // step[1] + 1)
    rest = (reach[0] % step[0], reach[1] % step[1])
    return F.conv_transpose2d(patches, ones, None, step, pad, rest, wide // elements, spread)


def _kernels(channels: int, kernel: tuple[int, int]) -> Tensor:
    elements = kernel[0] * kernel[1]
    return torch.eye(elements).reshape(elements, 1, *kernel).repeat(channels, 1, 1, 1)


def _pair(value: Any) -> tuple[int, int]:
    items = [int(item) for item in value] if isinstance(value, (tuple, list)) else [int(value)]
    return (items[0], items[-1])


RULES = (Rule((F.fold,), "an overlapping fold as a transposed convolution (coremltools#1912)", folded),)
