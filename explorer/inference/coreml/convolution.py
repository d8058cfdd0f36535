"""Convolutions and pooling over one, two or three spatial axes."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import ints, rule

CONVOLUTIONS = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}
TRANSPOSED = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}
MAX_POOLS = {3: F.max_pool1d, 4: F.max_pool2d, 5: F.max_pool3d}
AVERAGE_POOLS = {3: F.avg_pool1d, 4: F.avg_pool2d, 5: F.avg_pool3d}
Pads = list[tuple[int, int]]


@rule("conv")
def conv(
    *,
    x: Tensor,
    weight: Tensor,
    strides: Tensor,
    pad_type: str,
    pad: Tensor,
    dilations: Tensor,
    groups: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    steps, spread = ints(strides), ints(dilations)
    spans = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], spread, strict=True)]
    padded = F.pad(x, _torch_pad(_pads(x, spans, steps, pad_type, pad)))
    output: Tensor = CONVOLUTIONS[x.ndim](padded, weight, bias, steps, 0, spread, int(groups))
    return output


@rule("conv_transpose")
def conv_transpose(
    *,
    x: Tensor,
    weight: Tensor,
    strides: Tensor,
    pad_type: str,
    pad: Tensor,
    dilations: Tensor,
    groups: Tensor,
    bias: Tensor | None = None,
    output_shape: Tensor | None = None,
) -> Tensor:
    """The whole transposed convolution, then cut (or filled with zeros) to the declared size."""
    steps = ints(strides)
    full: Tensor = TRANSPOSED[x.ndim](x, weight, None, steps, 0, 0, int(groups), ints(dilations))
    given = ints(pad)
    borders: list[int] = []
    for axis, step in enumerate(steps):
        size, length = full.shape[axis + 2], x.shape[axis + 2] * step
        before, after = (given[2 * axis], given[2 * axis + 1]) if pad_type == "custom" else (0, 0)
        if pad_type == "same":
            before = (size - length) // 2
            after = size - length - before
        if output_shape is not None:
            after = size - before - ints(output_shape)[axis + 2]
        borders = [-before, -after, *borders]
    cut = F.pad(full, borders)
    return cut if bias is None else cut + bias.reshape([1, -1] + [1] * (x.ndim - 2))


@rule("max_pool")
def max_pool(*, x: Tensor, kernel_sizes: Tensor, strides: Tensor, pad_type: str, pad: Tensor, ceil_mode: Tensor) -> Tensor:
    kernel, steps = ints(kernel_sizes), ints(strides)
    pads = _pads(x, kernel, steps, pad_type, pad)
    extra = _ceil_extra(x, kernel, steps, pads, bool(ceil_mode))
    padded = F.pad(x, _torch_pad(_widened(pads, extra)), value=-math.inf)
    output: Tensor = MAX_POOLS[x.ndim](padded, kernel, steps)
    return output


@rule("avg_pool")
def avg_pool(
    *,
    x: Tensor,
    kernel_sizes: Tensor,
    strides: Tensor,
    pad_type: str,
    pad: Tensor,
    ceil_mode: Tensor,
    exclude_padding_from_average: Tensor,
) -> Tensor:
    """The mean of each window; what `ceil_mode` adds beyond the padding never counts."""
    kernel, steps = ints(kernel_sizes), ints(strides)
    pads = _pads(x, kernel, steps, pad_type, pad)
    extra = _ceil_extra(x, kernel, steps, pads, bool(ceil_mode))
    counted = F.pad(torch.ones_like(x), _torch_pad(pads), value=0.0 if bool(exclude_padding_from_average) else 1.0)
    counted = F.pad(counted, _torch_pad([(0, more) for more in extra]))
    padded = F.pad(x, _torch_pad(_widened(pads, extra)))
    output: Tensor = AVERAGE_POOLS[x.ndim](padded, kernel, steps) / AVERAGE_POOLS[x.ndim](counted, kernel, steps)
    return output


@rule("l2_pool")
def l2_pool(*, x: Tensor, kernel_sizes: Tensor, strides: Tensor, pad_type: str, pad: Tensor, ceil_mode: Tensor) -> Tensor:
    kernel, steps = ints(kernel_sizes), ints(strides)
    pads = _pads(x, kernel, steps, pad_type, pad)
    padded = F.pad(x, _torch_pad(_widened(pads, _ceil_extra(x, kernel, steps, pads, bool(ceil_mode)))))
    output: Tensor = torch.sqrt(AVERAGE_POOLS[x.ndim](padded.square(), kernel, steps) * math.prod(kernel))
    return output


def _pads(x: Tensor, spans: list[int], steps: list[int], pad_type: str, pad: Tensor) -> Pads:
    """Elements before and after each axis; "same" gives ceil(size / step) windows, its odd element after, "same_lower" before."""
    if pad_type == "custom":
        given = ints(pad)
        return [(given[2 * axis], given[2 * axis + 1]) for axis in range(len(spans))]
    if pad_type == "valid":
        return [(0, 0)] * len(spans)
    pads = []
    for size, span, step in zip(x.shape[2:], spans, steps, strict=True):
        total = max((math.ceil(size / step) - 1) * step + span - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((more, less) if pad_type == "same_lower" else (less, more))
    return pads


def _ceil_extra(x: Tensor, kernel: list[int], steps: list[int], pads: Pads, ceil_mode: bool) -> list[int]:
    """What to add after each axis so that a rounded-down count of windows equals the rounded-up one."""
    if not ceil_mode:
        return [0] * len(kernel)
    extra = []
    for size, span, step, (before, after) in zip(x.shape[2:], kernel, steps, pads, strict=True):
        whole = size + before + after
        count = math.ceil((whole - span) / step) + 1
        if (count - 1) * step >= size + before:
            count -= 1
        extra.append(max((count - 1) * step + span - whole, 0))
    return extra


def _widened(pads: Pads, extra: list[int]) -> Pads:
    return [(before, after + more) for (before, after), more in zip(pads, extra, strict=True)]


def _torch_pad(pads: Pads) -> list[int]:
    """torch counts axes from the last one."""
    return [item for pair in reversed(pads) for item in pair]
