"""Making tensors, and adding borders to them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("fill")
def fill(*, shape: list[int], value: Tensor) -> Tensor:
    return value.expand(shape).clone()


@rule("fill_like")
def fill_like(*, ref_tensor: Tensor, value: Tensor) -> Tensor:
    return value.expand(ref_tensor.shape).clone()


@rule("range_1d")
def range_1d(*, start: Tensor, end: Tensor, step: Tensor) -> Tensor:
    return torch.arange(start.item(), end.item(), step.item())


@rule("one_hot")
def one_hot(*, indices: Tensor, one_hot_vector_size: int, axis: int = -1, on_value: Tensor, off_value: Tensor) -> Tensor:
    """An index outside the vector leaves it all off."""
    chosen = indices.unsqueeze(-1) == torch.arange(one_hot_vector_size)
    return torch.where(chosen.movedim(-1, axis), on_value, off_value)


@rule("band_part")
def band_part(*, x: Tensor, lower: int = -1, upper: int = -1) -> Tensor:
    """Keeps the band of diagonals from `lower` below to `upper` above; a negative bound keeps that whole side."""
    below = lower if lower >= 0 else x.shape[-2]
    above = upper if upper >= 0 else x.shape[-1]
    return x.tril(above).triu(-below)


@rule("pad")
def pad(*, x: Tensor, pad: list[int], mode: str = "constant", constant_val: Tensor | None = None) -> Tensor:
    """`pad` holds before and after for the last axes of `x`, in their order."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    if mode == "constant":
        borders = [item for pair in reversed(pairs) for item in pair]
        return F.pad(x, borders, value=0.0 if constant_val is None else constant_val.item())
    for axis, (before, after) in enumerate(pairs, x.ndim - len(pairs)):
        positions = torch.arange(-before, x.shape[axis] + after)
        last = x.shape[axis] - 1
        if mode == "reflect":
            positions = last - (last - positions.abs()).abs()
        x = x.index_select(axis, positions.clamp(0, last))
    return x
