"""Resizing by nearest neighbour or linear interpolation, on the grids of MIL's sampling modes."""

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("upsample_nearest_neighbor")
def upsample_nearest(*, x: Tensor, scale_factor_height: float = 1.0, scale_factor_width: float = 1.0) -> Tensor:
    return _nearest(x, int(x.shape[-2] * scale_factor_height), int(x.shape[-1] * scale_factor_width))


@rule("upsample_bilinear")
def upsample_bilinear(
    *,
    x: Tensor,
    scale_factor_height: float = 1.0,
    scale_factor_width: float = 1.0,
    align_corners: bool = True,
    half_pixel_centers: bool | None = None,
) -> Tensor:
    height, width = int(x.shape[-2] * scale_factor_height), int(x.shape[-1] * scale_factor_width)
    half_pixel = not align_corners if half_pixel_centers is None else half_pixel_centers
    return linear(x, height, width, "STRICT_ALIGN_CORNERS" if align_corners else "UNALIGN_CORNERS" if half_pixel else "DEFAULT")


@rule("resize_nearest_neighbor")
def resize_nearest(*, x: Tensor, target_size_height: int, target_size_width: int) -> Tensor:
    return _nearest(x, target_size_height, target_size_width)


@rule("resize_bilinear")
def resize_bilinear(
    *, x: Tensor, target_size_height: int = 1, target_size_width: int = 1, sampling_mode: str = "DEFAULT"
) -> Tensor:
    return linear(x, target_size_height, target_size_width, sampling_mode)


@rule("resize")
def resize(
    *, x: Tensor, shape: list[int], resized_dims: int, interpolation_mode: str = "LINEAR", sampling_mode: str = "DEFAULT"
) -> Tensor:
    """The last `resized_dims` numbers of `shape` are the new sizes; 0 keeps the size."""
    sizes = [new or old for new, old in zip(shape[-resized_dims:], x.shape[-resized_dims:], strict=True)]
    values = x.float()
    for axis, size in enumerate(sizes, x.ndim - resized_dims):
        if interpolation_mode == "LINEAR":
            values = _linear_axis(values, axis, size, sampling_mode)
        else:
            values = values.index_select(axis, _nearest_points(values.shape[axis], size, sampling_mode))
    return values


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


def linear(x: Tensor, height: int, width: int, mode: str) -> Tensor:
    """The last two axes resized; torch does the two modes it shares."""
    if mode in ("UNALIGN_CORNERS", "STRICT_ALIGN_CORNERS") and x.ndim == 4 and height > 1 and width > 1:
        return F.interpolate(x, (height, width), mode="bilinear", align_corners=mode == "STRICT_ALIGN_CORNERS")
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
    rows, columns = _nearest_points(x.shape[-2], height), _nearest_points(x.shape[-1], width)
    return x.index_select(x.ndim - 2, rows).index_select(x.ndim - 1, columns)


def _nearest_points(size: int, new_size: int, mode: str = "DEFAULT") -> Tensor:
    """The neighbour at or before a point of the default grid, exact in integers; else the nearest one of the mode's grid."""
    if mode == "DEFAULT":
        return torch.arange(new_size) * size // new_size
    return (grid(size, new_size, mode) + 0.5).floor().long().clamp(max=size - 1)
