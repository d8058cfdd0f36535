"""Reductions, sorting and running sums."""

from collections.abc import Callable

import torch
from torch import Tensor

from explorer.inference.coreml.registry import RULES, ints, rule

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
    def reduce(*, x: Tensor, keep_dims: Tensor, axes: Tensor | None = None) -> Tensor:
        over = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in ints(axes)]
        return function(x, over, bool(keep_dims))

    return reduce


RULES.update({name: _reduction(function) for name, function in REDUCTIONS.items()})


@rule("reduce_argmax")
def argmax(*, x: Tensor, axis: Tensor, keep_dims: Tensor, output_dtype: str = "int32") -> Tensor:
    return x.argmax(int(axis), keepdim=bool(keep_dims))


@rule("reduce_argmin")
def argmin(*, x: Tensor, axis: Tensor, keep_dims: Tensor, output_dtype: str = "int32") -> Tensor:
    return x.argmin(int(axis), keepdim=bool(keep_dims))


@rule("argsort")
def argsort(*, x: Tensor, axis: Tensor, ascending: Tensor) -> Tensor:
    return torch.argsort(x, dim=int(axis), descending=not bool(ascending), stable=True)


@rule("topk")
def topk(
    *,
    x: Tensor,
    k: Tensor,
    axis: Tensor,
    ascending: Tensor,
    sort: Tensor | None = None,
    return_indices: Tensor | None = None,
    output_indices_dtype: str = "int32",
) -> Tensor | tuple[Tensor, ...]:
    values, indices = x.topk(int(k), int(axis), largest=not bool(ascending))
    wanted = return_indices is None or bool(return_indices)
    return (values, indices) if wanted else values


@rule("cumsum")
def cumsum(*, x: Tensor, axis: Tensor, exclusive: Tensor, reverse: Tensor) -> Tensor:
    along = int(axis)
    values = x.flip(along) if bool(reverse) else x
    total = values.cumsum(along)
    total = total - values if bool(exclusive) else total
    return total.flip(along) if bool(reverse) else total
