"""Cutting tensors, and writing a part of one."""

from torch import Tensor

from explorer.inference.coreml.registry import rule

Index = tuple[int | slice, ...]


@rule("slice_by_index")
def slice_by_index(
    *,
    x: Tensor,
    begin: list[int],
    end: list[int],
    stride: list[int] | None = None,
    begin_mask: list[bool] | None = None,
    end_mask: list[bool] | None = None,
    squeeze_mask: list[bool] | None = None,
) -> Tensor:
    """numpy's x[begin:end:stride]; a masked end is open, a squeezed axis takes one index and goes."""
    index, flipped = _index(x, begin, end, stride, begin_mask, end_mask, squeeze_mask)
    return (x.flip(flipped) if flipped else x)[index]


@rule("slice_update")
def slice_update(
    *,
    x: Tensor,
    update: Tensor,
    begin: list[int],
    end: list[int],
    stride: list[int] | None = None,
    begin_mask: list[bool] | None = None,
    end_mask: list[bool] | None = None,
    squeeze_mask: list[bool] | None = None,
) -> Tensor:
    index, flipped = _index(x, begin, end, stride, begin_mask, end_mask, squeeze_mask)
    output = x.flip(flipped) if flipped else x.clone()
    part = output[index]
    part.copy_(update if update.ndim == part.ndim or update.numel() == 1 else update.reshape(part.shape))
    return output.flip(flipped) if flipped else output


@rule("slice_by_size")
def slice_by_size(*, x: Tensor, begin: list[int], size: list[int]) -> Tensor:
    """A size of -1 reaches to the end."""
    for axis, (start, length) in enumerate(zip(begin, size, strict=True)):
        first = start + x.shape[axis] if start < 0 else start
        x = x.narrow(axis, first, x.shape[axis] - first if length < 0 else length)
    return x


@rule("crop")
def crop(*, x: Tensor, crop_height: list[int], crop_width: list[int]) -> Tensor:
    (top, bottom), (left, right) = crop_height, crop_width
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]


def _index(
    x: Tensor,
    begin: list[int],
    end: list[int],
    stride: list[int] | None,
    begin_mask: list[bool] | None,
    end_mask: list[bool] | None,
    squeeze_mask: list[bool] | None,
) -> tuple[Index, list[int]]:
    """What to take from each axis, and the axes to turn around before, as torch steps forward only."""
    index: list[int | slice] = []
    flipped = []
    for axis, size in enumerate(x.shape):
        start = None if begin_mask is not None and begin_mask[axis] else begin[axis]
        stop = None if end_mask is not None and end_mask[axis] else end[axis]
        if squeeze_mask is not None and squeeze_mask[axis]:
            index.append(start or 0)
            continue
        run = range(*slice(start, stop, 1 if stride is None else stride[axis]).indices(size))
        if run.step < 0:
            flipped.append(axis)
            run = range(size - 1 - run.start, size - 1 - run.start + len(run) * -run.step, -run.step)
        index.append(slice(run.start, max(run.stop, run.start), run.step))
    return tuple(index), flipped
