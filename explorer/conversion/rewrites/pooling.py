"""Pooling whose arguments coremltools misreads.

Without a stride, torch exports the call with two arguments where coremltools expects three (coremltools#2415). With `ceil_mode`
an average over a window that leaves the picture is divided by the whole window (coremltools#2772): here the picture is padded to
whole windows first, and each mean multiplied by window over elements, which torch itself gives for a picture of ones.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import BOTH, Constants, Function, Rule, fixed


def _strided(function: Function) -> Any:
    """The same pooling with the stride said."""

    def replace(constants: Constants, x: Tensor, kernel_size: Any, stride: Any = None, *rest: Any, **named: Any) -> Any:
        return NotImplemented if stride else function(x, kernel_size, kernel_size, *rest, **named)

    return replace


def ceiled(
    constants: Constants,
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """`F.avg_pool2d` with `ceil_mode`, of (batch, channels, height, width)."""
    sizes = [fixed(item) for item in x.shape[-2:]]
    if not ceil_mode or x.ndim != 4 or None in sizes:
        return NotImplemented
    kernel, step, pad = _pair(kernel_size), _pair(stride or kernel_size), _pair(padding)
    arguments = (kernel, step, pad, True, count_include_pad, divisor_override)
    key = "_".join(str(item) for item in ("average", *sizes, *kernel, *step, *pad, count_include_pad, divisor_override))
    ones = torch.ones(1, 1, *[size or 1 for size in sizes])
    means = constants.get(f"{key}_means", lambda: F.avg_pool2d(ones, *arguments))
    if means is None:
        return NotImplemented
    sides = [(_missing(n, k, s, p, out), p) for n, k, s, p, out in zip(sizes, kernel, step, pad, means.shape[-2:], strict=True)]
    if min(side for side, _ in sides) < 0:
        return NotImplemented
    spread = (sides[1][1], sides[1][0], sides[0][1], sides[0][0])
    factor = constants.get(f"{key}_factor", lambda: means / F.avg_pool2d(F.pad(ones, spread), kernel, step))
    return NotImplemented if factor is None else F.avg_pool2d(F.pad(x, spread), kernel, step) * factor


def _missing(size: Any, kernel: int, step: int, pad: int, windows: int) -> int:
    """Zeros after the end so that `windows` whole windows fit."""
    return int((windows - 1) * step + kernel - size - pad)


def _pair(value: Any) -> tuple[int, int]:
    items = [int(item) for item in value] if isinstance(value, (tuple, list)) else [int(value)]
    return (items[0], items[-1])


POOLS: tuple[Function, ...] = (F.max_pool1d, F.max_pool2d, F.max_pool3d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
RULES = (
    Rule((F.avg_pool2d,), "average pooling with ceil_mode over whole windows (coremltools#2772)", ceiled, BOTH),
    *(Rule((pool,), "pooling with its stride said (coremltools#2415)", _strided(pool)) for pool in POOLS),
)
