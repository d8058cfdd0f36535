"""Changing the shape and order of tensors, joining and splitting them."""

import torch
from torch import Tensor

from explorer.inference.coreml.registry import rule


@rule("reshape")
def reshape(*, x: Tensor, shape: list[int]) -> Tensor:
    """A 0 keeps the dimension of `x`, a -1 takes what is left."""
    return x.reshape([size if size else x.shape[axis] for axis, size in enumerate(shape)])


@rule("reshape_like")
def reshape_like(
    *, x: Tensor, ref_tensors: tuple[Tensor, ...], begins: list[int], ends: list[int], end_masks: list[bool]
) -> Tensor:
    """The shape is put together from a run of dimensions of each reference."""
    sizes: list[int] = []
    for reference, begin, end, open_end in zip(ref_tensors, begins, ends, end_masks, strict=True):
        sizes += reference.shape[begin:] if open_end else reference.shape[begin:end]
    return x.reshape(sizes)


@rule("transpose")
def transpose(*, x: Tensor, perm: list[int]) -> Tensor:
    return x.permute(perm)


@rule("expand_dims")
def expand_dims(*, x: Tensor, axes: list[int]) -> Tensor:
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@rule("squeeze")
def squeeze(*, x: Tensor, axes: list[int] | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(axes)


@rule("flatten2d")
def flatten2d(*, x: Tensor, axis: int = 1) -> Tensor:
    return x.reshape(x.shape[:axis].numel(), x.shape[axis:].numel())


@rule("shape")
def shape_of(*, x: Tensor) -> Tensor:
    return torch.tensor(x.shape)


@rule("reverse")
def reverse(*, x: Tensor, axes: list[int] | None = None) -> Tensor:
    return x.flip(list(range(x.ndim)) if axes is None else axes)


@rule("reverse_sequence")
def reverse_sequence(*, x: Tensor, lengths: list[int], seq_axis: int = 0, batch_axis: int = 0) -> Tensor:
    """The first `lengths[i]` elements of sample i in the other order."""
    axis = seq_axis % x.ndim
    axis -= int(axis > batch_axis % x.ndim)
    parts = []
    for length, sample in zip(lengths, x.unbind(batch_axis), strict=True):
        head, tail = sample.narrow(axis, 0, length), sample.narrow(axis, length, sample.shape[axis] - length)
        parts.append(torch.cat([head.flip(axis), tail], axis))
    return torch.stack(parts, batch_axis)


@rule("concat")
def concat(*, values: tuple[Tensor, ...], axis: int, interleave: bool = False) -> Tensor:
    if interleave:
        along = axis % values[0].ndim
        return torch.stack(values, along + 1).flatten(along, along + 1)
    return torch.cat(values, axis)


@rule("stack")
def stack(*, values: tuple[Tensor, ...], axis: int) -> Tensor:
    return torch.stack(values, axis)


@rule("split")
def split(
    *, x: Tensor, axis: int, num_splits: int | None = None, split_sizes: list[int] | None = None
) -> tuple[Tensor, ...]:  # fmt: skip
    return torch.split(x, split_sizes or x.shape[axis] // (num_splits or 1), axis)


@rule("tile")
def tile(*, x: Tensor, reps: list[int]) -> Tensor:
    return x.repeat(reps)


@rule("sliding_windows")
def sliding_windows(*, x: Tensor, axis: int, size: int, stride: int = 1) -> Tensor:
    """Windows along `axis`, their elements in a new axis behind it."""
    along = axis % x.ndim
    return x.unfold(along, size, stride).movedim(-1, along + 1)
