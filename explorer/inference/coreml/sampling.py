"""Sampling images at given points: resample, affine, crop_resize.

On points outside the image MIL's padding modes apply: constant takes one value, border the edge's,
reflection mirrors without the edge, symmetric with it.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("resample")
def resample(
    *,
    x: Tensor,
    coordinates: Tensor,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Tensor:
    """`x` (B, C, H, W) at `coordinates` (B, H2, W2, 2) given as (x, y)."""
    height, width = x.shape[-2:]
    points = coordinates.float()
    across = _pixels(points[..., 0], width, coordinates_mode, align_corners)
    down = _pixels(points[..., 1], height, coordinates_mode, align_corners)
    return _sampled(x, down, across, sampling_mode, padding_mode, padding_value)


@rule("affine")
def affine(
    *,
    x: Tensor,
    transform_matrix: Tensor,
    output_height: int,
    output_width: int,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Tensor:
    matrix = transform_matrix.reshape(-1, 2, 3).expand(len(x), 2, 3)
    points = F.affine_grid(matrix, [len(x), x.shape[1], output_height, output_width], align_corners)
    return resample(
        x=x, coordinates=points, sampling_mode=sampling_mode, padding_mode=padding_mode, padding_value=padding_value,
        coordinates_mode=coordinates_mode, align_corners=align_corners,
    )  # fmt: skip


@rule("crop_resize")
def crop_resize(
    *,
    x: Tensor,
    roi: Tensor | None = None,
    boxes: Tensor | None = None,
    box_indices: Tensor | None = None,
    target_height: int = 1,
    target_width: int = 1,
    normalized_coordinates: bool = False,
    spatial_scale: float = 1.0,
    box_coordinate_mode: str = "CORNERS_HEIGHT_FIRST",
    sampling_mode: str = "DEFAULT",
    pad_value: float = 0.0,
) -> Tensor:
    """iOS15 gives (N, B or 1, C, h, w) for `roi`, iOS17 (N, C, h, w) for `boxes`."""
    given = roi.reshape(len(roi), -1) if roi is not None else boxes
    assert given is not None
    corners = _corners(given[:, -4:].float(), box_coordinate_mode) * spatial_scale
    if normalized_coordinates:
        height, width = x.shape[-2:]
        corners = corners * torch.tensor([height - 1, width - 1, height - 1, width - 1])
    each = roi is not None and given.shape[1] == 4
    chosen = given[:, 0].long() if roi is not None else box_indices
    samples = torch.arange(len(given)) if chosen is None else chosen.long()
    crops = []
    for number, box in enumerate(corners.tolist()):
        down = _span(box[0], box[2], target_height, sampling_mode)[None, :, None].expand(1, -1, target_width)
        across = _span(box[1], box[3], target_width, sampling_mode)[None, None, :].expand(1, target_height, -1)
        images = x if each else x[int(samples[number])][None]
        lines = (down.expand(len(images), -1, -1), across.expand(len(images), -1, -1))
        crops.append(_sampled(images, *lines, "bilinear", "constant" if roi is None else "border", pad_value))
    stacked = torch.stack(crops)
    return stacked if roi is not None else stacked[:, 0]


def _corners(boxes: Tensor, mode: str) -> Tensor:
    """Top, left, bottom, right."""
    first, second, third, fourth = boxes.unbind(-1)
    if mode.endswith("WIDTH_FIRST"):
        first, second, third, fourth = second, first, fourth, third
    if mode.startswith("CENTER_SIZE"):
        first, second, third, fourth = first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2
    return torch.stack([first, second, third, fourth], -1)


def _span(start: float, end: float, count: int, mode: str) -> Tensor:
    """`count` points between two corners, as the sampling modes place them on an axis of that length."""
    length = end - start
    steps = torch.arange(count, dtype=torch.float64)
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        if count == 1:
            return torch.full((1,), start + length / 2 if mode == "ALIGN_CORNERS" else start)
        return (start + steps * length / (count - 1)).float()
    if mode == "DEFAULT":
        return (start + steps * (length + 1) / count).clamp(start, max(end, start)).float()
    if mode == "UNALIGN_CORNERS":
        return (start - 0.5 + (steps + 0.5) * (length + 1) / count).clamp(start, max(end, start)).float()
    return (start + (steps + 0.5) * max(length, 1.0) / count).clamp(start, max(end, start)).float()


def _pixels(points: Tensor, size: int, mode: str, align_corners: bool) -> Tensor:
    """Coordinates as positions between 0 and size - 1."""
    if mode == "unnormalized":
        return points
    share = points if mode == "normalized_zero_to_one" else (points + 1.0) / 2.0
    return share * (size - 1) if align_corners else share * size - 0.5


def _sampled(x: Tensor, down: Tensor, across: Tensor, sampling: str, padding: str, value: float) -> Tensor:
    """`x` (B, C, H, W) at rows `down` and columns `across` (B, H2, W2)."""
    if sampling == "nearest":
        return _at(x, down.round().long(), across.round().long(), padding, value)
    top, left = down.floor(), across.floor()
    lower, right = (down - top)[:, None], (across - left)[:, None]
    rows, columns = top.long(), left.long()
    upper_line = _at(x, rows, columns, padding, value) * (1 - right) + _at(x, rows, columns + 1, padding, value) * right
    lower_line = _at(x, rows + 1, columns, padding, value) * (1 - right) + _at(x, rows + 1, columns + 1, padding, value) * right
    return upper_line * (1 - lower) + lower_line * lower


def _reflected(positions: Tensor, size: int) -> Tensor:
    if size == 1:
        return torch.zeros_like(positions)
    around = positions.abs() % (2 * (size - 1))
    return torch.minimum(around, 2 * (size - 1) - around)


def _mirrored(positions: Tensor, size: int) -> Tensor:
    around = positions % (2 * size)
    return torch.minimum(around, 2 * size - 1 - around)


OUTSIDE: dict[str, Callable[[Tensor, int], Tensor]] = {
    "constant": lambda positions, size: positions.clamp(0, size - 1),
    "border": lambda positions, size: positions.clamp(0, size - 1),
    "reflection": _reflected,
    "symmetric": _mirrored,
}


def _at(x: Tensor, rows: Tensor, columns: Tensor, padding: str, value: float) -> Tensor:
    height, width = x.shape[-2:]
    places = OUTSIDE[padding](rows, height) * width + OUTSIDE[padding](columns, width)
    flat = places.flatten(1)[:, None].expand(-1, x.shape[1], -1)
    taken = x.flatten(2).gather(2, flat).reshape(len(x), x.shape[1], *places.shape[1:])
    if padding != "constant":
        return taken
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    return torch.where(inside[:, None], taken, value)
