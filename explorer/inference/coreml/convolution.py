"""Convolutions and pooling over one, two or three spatial axes."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule

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
    strides: list[int] | None = None,
    pad_type: str = "valid",
    pad: list[int] | None = None,
    dilations: list[int] | None = None,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Tensor:
    steps, spread = strides or [1] * (x.ndim - 2), dilations or [1] * (x.ndim - 2)
    padded, borders = bordered(x, weight, steps, spread, pad_type, pad)
    output: Tensor = CONVOLUTIONS[x.ndim](padded, weight, bias, steps, borders, spread, groups)
    return output


@rule("conv_quantized")
def conv_quantized(
    *,
    x: Tensor,
    weight: Tensor,
    quantization_type: str,
    quant_scale: Tensor,
    quant_bias: Tensor,
    nbits: int = 8,
    strides: list[int] | None = None,
    pad_type: str = "valid",
    pad: list[int] | None = None,
    dilations: list[int] | None = None,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Tensor:
    """A convolution with the weight `weight` * scale + bias, for each output channel or for all."""
    if quantization_type != "linear":
        raise ValueError("conv_quantized with a table is not defined by its documentation")
    shape = [-1] + [1] * (weight.ndim - 1)
    dense = weight.float() * quant_scale.reshape(shape) + quant_bias.reshape(shape)
    return conv(
        x=x, weight=dense, strides=strides, pad_type=pad_type, pad=pad, dilations=dilations, groups=groups,
        bias=None if bias is None else bias.float(),
    )  # fmt: skip


@rule("conv_transpose")
def conv_transpose(
    *,
    x: Tensor,
    weight: Tensor,
    strides: list[int] | None = None,
    pad_type: str = "valid",
    pad: list[int] | None = None,
    dilations: list[int] | None = None,
    groups: int = 1,
    bias: Tensor | None = None,
    output_shape: list[int] | None = None,
) -> Tensor:
    """The whole transposed convolution, then cut (or filled with zeros) to the declared size."""
    steps, spread = strides or [1] * (x.ndim - 2), dilations or [1] * (x.ndim - 2)
    full: Tensor = TRANSPOSED[x.ndim](x, weight, None, steps, 0, 0, groups, spread)
    borders: list[int] = []
    for axis, step in enumerate(steps):
        size, length = full.shape[axis + 2], x.shape[axis + 2] * step
        before, after = (pad[2 * axis], pad[2 * axis + 1]) if pad_type == "custom" and pad else (0, 0)
        if pad_type in ("same", "same_lower"):
            surplus = size - length
            before = surplus // 2 if pad_type == "same" else surplus - surplus // 2
            after = surplus - before
        if output_shape is not None:
            after = size - before - output_shape[axis + 2]
        borders = [-before, -after, *borders]
    cut = F.pad(full, borders) if any(borders) else full
    return cut if bias is None else cut + bias.reshape([1, -1] + [1] * (x.ndim - 2))


@rule("max_pool")
def max_pool(
    *,
    x: Tensor,
    kernel_sizes: list[int],
    strides: list[int] | None = None,
    pad_type: str,
    pad: list[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    steps = strides or [1] * len(kernel_sizes)
    pads = pads_of(x, kernel_sizes, steps, pad_type, pad)
    padded = _filled(x, _widened(pads, _ceil_extra(x, kernel_sizes, steps, pads, ceil_mode)), -math.inf)
    output: Tensor = MAX_POOLS[x.ndim](padded, kernel_sizes, steps)
    return output


@rule("avg_pool")
def avg_pool(
    *,
    x: Tensor,
    kernel_sizes: list[int],
    strides: list[int] | None = None,
    pad_type: str,
    pad: list[int] | None = None,
    ceil_mode: bool = False,
    exclude_padding_from_average: bool = False,
) -> Tensor:
    """The mean of each window; what `ceil_mode` adds beyond the padding never counts."""
    steps = strides or [1] * len(kernel_sizes)
    pads = pads_of(x, kernel_sizes, steps, pad_type, pad)
    extra = _ceil_extra(x, kernel_sizes, steps, pads, ceil_mode)
    pool = AVERAGE_POOLS[x.ndim]
    mean: Tensor = pool(_filled(x, _widened(pads, extra), 0.0), kernel_sizes, steps)
    if not any(extra) and not (exclude_padding_from_average and any(map(any, pads))):
        return mean
    counted = _filled(torch.ones_like(x), pads, 0.0 if exclude_padding_from_average else 1.0)
    share: Tensor = pool(_filled(counted, [(0, more) for more in extra], 0.0), kernel_sizes, steps)
    return mean / share


@rule("l2_pool")
def l2_pool(
    *,
    x: Tensor,
    kernel_sizes: list[int],
    strides: list[int] | None = None,
    pad_type: str,
    pad: list[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    steps = strides or [1] * len(kernel_sizes)
    pads = pads_of(x, kernel_sizes, steps, pad_type, pad)
    padded = _filled(x, _widened(pads, _ceil_extra(x, kernel_sizes, steps, pads, ceil_mode)), 0.0)
    output: Tensor = torch.sqrt(AVERAGE_POOLS[x.ndim](padded.square(), kernel_sizes, steps) * math.prod(kernel_sizes))
    return output


def pads_of(x: Tensor, spans: list[int], steps: list[int], pad_type: str, pad: list[int] | None) -> Pads:
    """Elements before and after each axis; "same" gives ceil(size / step) windows, its odd element after, "same_lower" before."""
    if pad_type == "custom" and pad is not None:
        return [(pad[2 * axis], pad[2 * axis + 1]) for axis in range(len(spans))]
    if pad_type in ("valid", "custom"):
        return [(0, 0)] * len(spans)
    pads = []
    for size, span, step in zip(x.shape[2:], spans, steps, strict=True):
        total = max((math.ceil(size / step) - 1) * step + span - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((more, less) if pad_type == "same_lower" else (less, more))
    return pads


def bordered(
    x: Tensor, weight: Tensor, steps: list[int], spread: list[int], pad_type: str, pad: list[int] | None
) -> tuple[Tensor, list[int]]:
    """`x` for a convolution with `weight`, and the borders of zeros that torch's adds itself, where both sides are alike."""
    spans = [(size - 1) * gap + 1 for size, gap in zip(weight.shape[2:], spread, strict=True)]
    pads = pads_of(x, spans, steps, pad_type, pad)
    if all(before == after for before, after in pads):
        return x, [before for before, _ in pads]
    return _filled(x, pads, 0.0), [0] * len(pads)


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


def _filled(x: Tensor, pads: Pads, value: float) -> Tensor:
    """`x` with borders; torch counts axes from the last one."""
    if not any(map(any, pads)):
        return x
    return F.pad(x, [item for pair in reversed(pads) for item in pair], value=value)
