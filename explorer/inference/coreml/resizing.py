"""Resizing of the last two axes by nearest neighbour or linear interpolation."""

import torch
from torch import Tensor

from explorer.inference.coreml.registry import ints, rule


@rule("upsample_nearest_neighbor")
def upsample_nearest(*, x: Tensor, scale_factor_height: Tensor, scale_factor_width: Tensor) -> Tensor:
    return _nearest(x, int(x.shape[-2] * float(scale_factor_height)), int(x.shape[-1] * float(scale_factor_width)))


@rule("upsample_bilinear")
def upsample_bilinear(
    *,
    x: Tensor,
    scale_factor_height: Tensor,
    scale_factor_width: Tensor,
    align_corners: Tensor,
    half_pixel_centers: Tensor | None = None,
) -> Tensor:
    height, width = int(x.shape[-2] * float(scale_factor_height)), int(x.shape[-1] * float(scale_factor_width))
    half_pixel = not bool(align_corners) if half_pixel_centers is None else bool(half_pixel_centers)
    mode = "STRICT_ALIGN_CORNERS" if bool(align_corners) else "UNALIGN_CORNERS" if half_pixel else "DEFAULT"
    return _linear(x, height, width, mode)


@rule("resize_nearest_neighbor")
def resize_nearest(*, x: Tensor, target_size_height: Tensor, target_size_width: Tensor) -> Tensor:
    return _nearest(x, int(target_size_height), int(target_size_width))


@rule("resize_bilinear")
def resize_bilinear(*, x: Tensor, target_size_height: Tensor, target_size_width: Tensor, sampling_mode: str) -> Tensor:
    return _linear(x, int(target_size_height), int(target_size_width), sampling_mode)


@rule("resize")
def resize(*, x: Tensor, shape: Tensor, resized_dims: Tensor, interpolation_mode: str, sampling_mode: str) -> Tensor:
    """The last `resized_dims` numbers of `shape` are the new sizes; 0 keeps the size."""
    count = int(resized_dims)
    sizes = [new or old for new, old in zip(ints(shape)[-count:], x.shape[-count:], strict=True)]
    for axis, size in enumerate(sizes, x.ndim - count):
        linear = interpolation_mode == "LINEAR"
        x = _linear_axis(x, axis, size, sampling_mode) if linear else _nearest_axis(x, axis, size)
    return x


def grid(size: int, new_size: int, mode: str) -> Tensor:
    """Where each of `new_size` points lies on an axis of `size` points, in MIL's sampling modes (float64)."""
    steps = torch.arange(new_size, dtype=torch.float64)
    if mode == "UNALIGN_CORNERS":
        points = (steps + 0.5) * (size / new_size) - 0.5
    elif mode == "OFFSET_CORNERS":
        points = (steps + 0.5) * (max(1, size - 1) / new_size)
    elif mode == "DEFAULT":
        points = steps * (size / new_size)
    elif new_size == 1:
        points = torch.full((1,), (size - 1) / 2 if mode == "ALIGN_CORNERS" else 0.0, dtype=torch.float64)
    else:
        points = steps * ((size - 1) / (new_size - 1))
    return points.clamp(0, size - 1)


def _linear(x: Tensor, height: int, width: int, mode: str) -> Tensor:
    return _linear_axis(_linear_axis(x, x.ndim - 2, height, mode), x.ndim - 1, width, mode)


def _linear_axis(x: Tensor, axis: int, new_size: int, mode: str) -> Tensor:
    points = grid(x.shape[axis], new_size, mode)
    below = points.floor().long()
    above = (below + 1).clamp(max=x.shape[axis] - 1)
    shape = [1] * x.ndim
    shape[axis] = -1
    share = (points - below).float().reshape(shape)
    return x.index_select(axis, below) * (1.0 - share) + x.index_select(axis, above) * share


def _nearest(x: Tensor, height: int, width: int) -> Tensor:
    return _nearest_axis(_nearest_axis(x, x.ndim - 2, height), x.ndim - 1, width)


def _nearest_axis(x: Tensor, axis: int, new_size: int) -> Tensor:
    return x.index_select(axis, torch.arange(new_size) * x.shape[axis] // new_size)
