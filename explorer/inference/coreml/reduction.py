"""Reductions, sorting and running sums."""

from collections.abc import Callable

import torch
from torch import Tensor

from explorer.inference.coreml.registry import rule

Reduce = Callable[[Tensor, list[int], bool], Tensor]


def _prod(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keep)
    return x


REDUCTIONS: dict[str, Reduce] = {
    "reduce_l1_norm": lambda x, axes, keep: x.abs().sum(axes, keepdim=keep),
    "reduce_l2_norm": lambda x, axes, keep: x.square().sum(axes, keepdim=keep).sqrt(),
    "reduce_log_sum": lambda x, axes, keep: x.sum(axes, keepdim=keep).log(),
    "reduce_log_sum_exp": lambda x, axes, keep: torch.logsumexp(x, axes, keep),
    "reduce_max": lambda x, axes, keep: x.amax(axes, keepdim=keep),
    "reduce_mean": lambda x, axes, keep: x.float().mean(axes, keepdim=keep),
    "reduce_min": lambda x, axes, keep: x.amin(axes, keepdim=keep),
    "reduce_prod": _prod,
    "reduce_sum": lambda x, axes, keep: x.sum(axes, keepdim=keep),
    "reduce_sum_square": lambda x, axes, keep: x.square().sum(axes, keepdim=keep),
}


def _reduction(function: Reduce) -> Callable[..., Tensor]:
    def reduce(*, x: Tensor, keep_dims: bool = False, axes: list[int] | None = None) -> Tensor:
        over = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in axes]
        return function(x, over, keep_dims)

    return reduce


for name, reduction in REDUCTIONS.items():
    rule(name)(_reduction(reduction))


@rule("reduce_argmax")
def argmax(*, x: Tensor, axis: int = -1, keep_dims: bool = False, output_dtype: str = "int32") -> Tensor:
    return x.argmax(axis, keepdim=keep_dims)


@rule("reduce_argmin")
def argmin(*, x: Tensor, axis: int = -1, keep_dims: bool = False, output_dtype: str = "int32") -> Tensor:
    return x.argmin(axis, keepdim=keep_dims)


@rule("argsort")
def argsort(*, x: Tensor, axis: int = -1, ascending: bool = False) -> Tensor:
    return torch.argsort(x, dim=axis, descending=not ascending, stable=True)


@rule("topk")
def topk(
    *,
    x: Tensor,
    k: int = 1,
    axis: int = -1,
    ascending: bool = False,
    sort: bool = True,
    return_indices: bool = True,
    output_indices_dtype: str = "int32",
) -> Tensor | tuple[Tensor, ...]:
    """The first of equal values wins, as in coremltools' own folding; with `k` -1 all of the axis."""
    values, indices = torch.sort(x, dim=axis, descending=not ascending, stable=True)
    count = x.shape[axis] if k < 0 else k
    values, indices = values.narrow(axis, 0, count), indices.narrow(axis, 0, count)
    return (values, indices) if return_indices else values


@rule("cumsum")
def cumsum(*, x: Tensor, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    values = x.flip(axis) if reverse else x
    total = values.cumsum(axis)
    total = total.roll(1, axis).index_fill(axis, torch.tensor([0]), 0) if exclusive else total
    return total.flip(axis) if reverse else total
