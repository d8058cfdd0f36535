"""Rules of the mode "float16_accumulate": the sums inside an operator are kept in float16 too.

What is simulated. Products and the sum of CHUNK of them are computed in float32 and rounded to half; the running sum over the
chunks is rounded to half after each. So does hardware that adds CHUNK products in a wide adder and accumulates in half.
It holds for linear, matmul, conv (chunks of whole input channels), scaled_dot_product_attention (both products) and reduce_sum,
_mean, _sum_square, _l1_norm and _l2_norm; every other operator sums in float32. No chip is claimed to add in this order.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from explorer.inference.coreml.convolution import CONVOLUTIONS, bordered
from explorer.inference.coreml.reduction import REDUCTIONS
from explorer.inference.coreml.registry import Rule, rule

CHUNK = 32
HALF_SUMS: dict[str, Rule] = {}


def rounded(value: Tensor) -> Tensor:
    return value.half().float()


def product(left: Tensor, right: Tensor) -> Tensor:
    """(..., n, k) by (..., k, m), the sum over k accumulated in half."""
    result = None
    for start in range(0, left.shape[-1], CHUNK):
        part = rounded(left[..., start : start + CHUNK] @ right[..., start : start + CHUNK, :])
        result = part if result is None else rounded(result + part)
    return left @ right if result is None else result


def total(x: Tensor, axes: list[int]) -> Tensor:
    """The sum over `axes`, which stay with size 1, accumulated in half in the order of the elements."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    rows = x.permute(*kept, *axes).reshape(*[x.shape[axis] for axis in kept], -1)
    sums = rows.new_zeros(rows.shape[:-1])
    for start in range(0, rows.shape[-1], CHUNK):
        sums = rounded(sums + rounded(rows[..., start : start + CHUNK].sum(-1)))
    return sums.reshape(shape)


@rule("linear", table=HALF_SUMS)
def linear(*, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result = product(x, weight.transpose(0, 1))
    return result if bias is None else result + bias


@rule("matmul", table=HALF_SUMS)
def matmul(*, x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    left = x.transpose(-1, -2) if transpose_x and x.ndim > 1 else x
    right = y.transpose(-1, -2) if transpose_y and y.ndim > 1 else y
    rows, columns = (left[None] if x.ndim == 1 else left), (right[:, None] if y.ndim == 1 else right)
    result = product(rows, columns)
    result = result.squeeze(-2) if x.ndim == 1 else result
    return result.squeeze(-1) if y.ndim == 1 else result


@rule("scaled_dot_product_attention", table=HALF_SUMS)
def attention(*, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    scores = product(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return product(torch.softmax(scores, -1), value)


@rule("conv", table=HALF_SUMS)
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
    grouped = padded.reshape(len(x), groups, weight.shape[1], *padded.shape[2:])
    channels = max(1, CHUNK // weight.shape[2:].numel())
    accumulated = None
    for start in range(0, weight.shape[1], channels):
        part = grouped[:, :, start : start + channels].flatten(1, 2)
        kernel = weight[:, start : start + channels]
        one = rounded(CONVOLUTIONS[x.ndim](part, kernel, None, steps, borders, spread, groups))
        accumulated = one if accumulated is None else rounded(accumulated + one)
    assert accumulated is not None
    return accumulated if bias is None else accumulated + bias.reshape([1, -1] + [1] * (x.ndim - 2))


SUMS: dict[str, Callable[[Tensor, list[int]], Tensor]] = {
    "reduce_l1_norm": lambda x, axes: total(x.abs(), axes),
    "reduce_l2_norm": lambda x, axes: total(x.square(), axes).sqrt(),
    "reduce_mean": lambda x, axes: total(x, axes) / math.prod(x.shape[axis] for axis in axes),
    "reduce_sum": total,
    "reduce_sum_square": lambda x, axes: total(x.square(), axes),
}


def _reduction(name: str, sums: Callable[[Tensor, list[int]], Tensor]) -> Callable[..., Tensor]:
    def reduce(*, x: Tensor, keep_dims: bool = False, axes: list[int] | None = None) -> Tensor:
        over = list(range(x.ndim)) if axes is None else sorted(axis % x.ndim for axis in axes)
        if not x.is_floating_point():
            return REDUCTIONS[name](x, over, keep_dims)
        result = sums(x, over)
        return result if keep_dims else result.squeeze(over)

    return reduce


for name, sums in SUMS.items():
    rule(name, table=HALF_SUMS)(_reduction(name, sums))
