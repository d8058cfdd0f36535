"""Moving, cutting, joining and making tensors."""

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import flags, ints, rule


@rule("reshape")
def reshape(*, x: Tensor, shape: Tensor) -> Tensor:
    """A 0 keeps the dimension of `x`, a -1 takes what is left."""
    return x.reshape([size if size else x.shape[axis] for axis, size in enumerate(ints(shape))])


@rule("transpose")
def transpose(*, x: Tensor, perm: Tensor) -> Tensor:
    return x.permute(ints(perm))


@rule("expand_dims")
def expand_dims(*, x: Tensor, axes: Tensor) -> Tensor:
    rank = x.ndim + axes.numel()
    for axis in sorted(axis % rank for axis in ints(axes)):
        x = x.unsqueeze(axis)
    return x


@rule("squeeze")
def squeeze(*, x: Tensor, axes: Tensor | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(ints(axes))


@rule("flatten2d")
def flatten2d(*, x: Tensor, axis: Tensor) -> Tensor:
    rows = x.shape[: int(axis)].numel()
    return x.reshape(rows, -1)


@rule("shape")
def shape_of(*, x: Tensor) -> Tensor:
    return torch.tensor(x.shape)


@rule("slice_by_index")
def slice_by_index(
    *,
    x: Tensor,
    begin: Tensor,
    end: Tensor,
    stride: Tensor | None = None,
    begin_mask: Tensor | None = None,
    end_mask: Tensor | None = None,
    squeeze_mask: Tensor | None = None,
) -> Tensor:
    """numpy's x[begin:end:stride]; a masked end is open, a squeezed axis takes one index and goes."""
    squeezed = flags(squeeze_mask, x.ndim)
    for axis, positions in enumerate(_positions(x, begin, end, stride, begin_mask, end_mask, squeezed)):
        x = x.index_select(axis, torch.tensor(list(positions), dtype=torch.long))
    return x.squeeze([axis for axis, gone in enumerate(squeezed) if gone]) if any(squeezed) else x


@rule("slice_update")
def slice_update(
    *,
    x: Tensor,
    update: Tensor,
    begin: Tensor,
    end: Tensor,
    stride: Tensor | None = None,
    begin_mask: Tensor | None = None,
    end_mask: Tensor | None = None,
    squeeze_mask: Tensor | None = None,
) -> Tensor:
    squeezed = flags(squeeze_mask, x.ndim)
    chosen = [torch.tensor(list(run)) for run in _positions(x, begin, end, stride, begin_mask, end_mask, squeezed)]
    output = x.clone()
    places = torch.meshgrid(*chosen, indexing="ij")
    output[places] = update.expand(places[0].shape) if update.ndim == x.ndim else update.reshape(places[0].shape)
    return output


@rule("slice_by_size")
def slice_by_size(*, x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    for axis, (start, length) in enumerate(zip(ints(begin), ints(size), strict=True)):
        first = start + x.shape[axis] if start < 0 else start
        x = x.narrow(axis, first, x.shape[axis] - first if length < 0 else length)
    return x


@rule("reverse")
def reverse(*, x: Tensor, axes: Tensor | None = None) -> Tensor:
    return x.flip(list(range(x.ndim)) if axes is None else ints(axes))


@rule("concat")
def concat(*, values: tuple[Tensor, ...], axis: Tensor, interleave: Tensor) -> Tensor:
    if bool(interleave):
        along = int(axis) % values[0].ndim
        return torch.stack(values, along + 1).flatten(along, along + 1)
    return torch.cat(values, int(axis))


@rule("stack")
def stack(*, values: tuple[Tensor, ...], axis: Tensor) -> Tensor:
    return torch.stack(values, int(axis))


@rule("split")
def split(*, x: Tensor, axis: Tensor, num_splits: Tensor | None = None, split_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
    along = int(axis)
    if split_sizes is not None:
        return torch.split(x, ints(split_sizes), along)
    parts = int(num_splits) if num_splits is not None else 1
    return torch.split(x, x.shape[along] // parts, along)


@rule("tile")
def tile(*, x: Tensor, reps: Tensor) -> Tensor:
    return x.repeat(ints(reps))


@rule("pad")
def pad(*, x: Tensor, pad: Tensor, mode: str, constant_val: Tensor) -> Tensor:
    """`pad` holds before and after for the last axes of `x`, in their order."""
    pairs = pad.reshape(-1, 2).tolist()
    first = x.ndim - len(pairs)
    if mode == "constant":
        borders = [int(item) for pair in reversed(pairs) for item in pair]
        return F.pad(x, borders, value=constant_val.item())
    for axis, (before, after) in enumerate(pairs, first):
        positions = torch.arange(-int(before), x.shape[axis] + int(after))
        last = x.shape[axis] - 1
        if mode == "reflect":
            positions = last - (last - positions.abs()).abs()
        x = x.index_select(axis, positions.clamp(0, last))
    return x


@rule("fill")
def fill(*, shape: Tensor, value: Tensor) -> Tensor:
    return value.expand(ints(shape)).clone()


@rule("fill_like")
def fill_like(*, ref_tensor: Tensor, value: Tensor) -> Tensor:
    return value.expand(ref_tensor.shape).clone()


@rule("range_1d")
def range_1d(*, start: Tensor, end: Tensor, step: Tensor) -> Tensor:
    return torch.arange(start.item(), end.item(), step.item())


@rule("one_hot")
def one_hot(*, indices: Tensor, one_hot_vector_size: Tensor, axis: Tensor, on_value: Tensor, off_value: Tensor) -> Tensor:
    chosen = F.one_hot(indices, int(one_hot_vector_size)).movedim(-1, int(axis))
    return torch.where(chosen.bool(), on_value, off_value)


@rule("band_part")
def band_part(*, x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """Keeps the band of diagonals from `lower` below to `upper` above; a negative bound keeps that whole side."""
    below = int(lower) if int(lower) >= 0 else x.shape[-2]
    above = int(upper) if int(upper) >= 0 else x.shape[-1]
    return x.tril(above).triu(-below)


@rule("pixel_shuffle")
def pixel_shuffle(*, x: Tensor, upscale_factor: Tensor) -> Tensor:
    return F.pixel_shuffle(x, int(upscale_factor))


@rule("pixel_unshuffle")
def pixel_unshuffle(*, x: Tensor, downscale_factor: Tensor) -> Tensor:
    return F.pixel_unshuffle(x, int(downscale_factor))


@rule("depth_to_space")
def depth_to_space(*, x: Tensor, block_size: Tensor) -> Tensor:
    """Depth is (block row, block column, channel), outermost first."""
    batch, depth, height, width = x.shape
    block = int(block_size)
    cells = x.reshape(batch, block, block, depth // block**2, height, width)
    return cells.permute(0, 3, 4, 1, 5, 2).reshape(batch, depth // block**2, height * block, width * block)


@rule("space_to_depth")
def space_to_depth(*, x: Tensor, block_size: Tensor) -> Tensor:
    batch, depth, height, width = x.shape
    block = int(block_size)
    cells = x.reshape(batch, depth, height // block, block, width // block, block)
    return cells.permute(0, 3, 5, 1, 2, 4).reshape(batch, depth * block**2, height // block, width // block)


@rule("crop")
def crop(*, x: Tensor, crop_height: Tensor, crop_width: Tensor) -> Tensor:
    (top, bottom), (left, right) = ints(crop_height), ints(crop_width)
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]


def _positions(
    x: Tensor,
    begin: Tensor,
    end: Tensor,
    stride: Tensor | None,
    begin_mask: Tensor | None,
    end_mask: Tensor | None,
    squeezed: list[bool],
) -> list[range]:
    """The indices that a slice takes from each axis."""
    starts, stops = ints(begin), ints(end)
    steps = [1] * x.ndim if stride is None else ints(stride)
    open_start, open_stop = flags(begin_mask, x.ndim), flags(end_mask, x.ndim)
    runs = []
    for axis, size in enumerate(x.shape):
        start = None if open_start[axis] else starts[axis]
        if squeezed[axis]:
            first = (start or 0) % size
            runs.append(range(first, first + 1))
        else:
            runs.append(range(*slice(start, None if open_stop[axis] else stops[axis], steps[axis]).indices(size)))
    return runs
