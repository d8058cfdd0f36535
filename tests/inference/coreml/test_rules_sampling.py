"""Resizing, sampling and choosing of boxes, against torch where it has them."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from tests.inference.coreml.folding import close, every, noise, rule


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(2, 6), st.integers(2, 9), st.integers(2, 9))
def test_resizing(height: int, width: int, new_height: int, new_width: int) -> None:
    x = noise(1, 2, height, width)
    target = {"target_size_height": new_height, "target_size_width": new_width}
    linear = F.interpolate(x, (new_height, new_width), mode="bilinear", align_corners=False)
    close(rule("resize_bilinear", x=x, sampling_mode="UNALIGN_CORNERS", **target), linear)
    corners = F.interpolate(x, (new_height, new_width), mode="bilinear", align_corners=True)
    for mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        close(rule("resize_bilinear", x=x, sampling_mode=mode, **target), corners)
    shape = {"shape": [0, new_height, new_width], "resized_dims": 2}
    close(rule("resize", x=x, interpolation_mode="LINEAR", sampling_mode="UNALIGN_CORNERS", **shape), linear)
    nearest = F.interpolate(x, (new_height, new_width), mode="nearest")
    close(rule("resize_nearest_neighbor", x=x, **target), nearest)
    close(rule("resize", x=x, interpolation_mode="NEAREST_NEIGHBOR", sampling_mode="DEFAULT", **shape), nearest)
    exact = F.interpolate(x, (new_height, new_width), mode="nearest-exact")
    halves = rule("resize", x=x, interpolation_mode="NEAREST_NEIGHBOR", sampling_mode="UNALIGN_CORNERS", **shape)
    close(halves, exact)


def test_resizing_to_one_pixel_and_the_tensorflow_grids() -> None:
    x = torch.tensor([0.0, 1.0, 2.0])[None, None, None].expand(1, 1, 3, 3)
    one = {"x": x, "target_size_height": 1, "target_size_width": 1}
    assert float(rule("resize_bilinear", sampling_mode="ALIGN_CORNERS", **one)) == 1.0
    assert float(rule("resize_bilinear", sampling_mode="STRICT_ALIGN_CORNERS", **one)) == 0.0
    wide = rule("resize_bilinear", x=x, target_size_height=1, target_size_width=6, sampling_mode="DEFAULT")
    assert wide.reshape(-1).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.0]


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("half_pixel", [None, True, False])
def test_upsampling(align: bool, half_pixel: bool | None) -> None:
    x = noise(1, 2, 3, 4)
    extra = {} if half_pixel is None else {"half_pixel_centers": half_pixel}
    got = rule("upsample_bilinear", x=x, scale_factor_height=2.0, scale_factor_width=1.5, align_corners=align, **extra)
    assert got.shape == (1, 2, 6, 6)
    if align or half_pixel is not False:
        close(got, F.interpolate(x, (6, 6), mode="bilinear", align_corners=align))
    else:
        assert got[0, 0, 0, 0] == x[0, 0, 0, 0]
    nearest = rule("upsample_nearest_neighbor", x=x, scale_factor_height=2, scale_factor_width=3)
    close(nearest, F.interpolate(x, scale_factor=(2.0, 3.0), mode="nearest"))


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("sampling", ["bilinear", "nearest"])
@pytest.mark.parametrize(("padding", "torchs"), [("constant", "zeros"), ("border", "border"), ("reflection", "reflection")])
def test_resample_is_grid_sample(align: bool, sampling: str, padding: str, torchs: str) -> None:
    x, points = noise(2, 3, 5, 6), noise(2, 4, 7, 2) * 1.3
    if not align and padding == "reflection":
        padding = "symmetric"  # torch mirrors about the edge of the last pixel then, which is the border kept twice
    got = rule(
        "resample", x=x, coordinates=points, sampling_mode=sampling, padding_mode=padding, padding_value=0.0,
        coordinates_mode="normalized_minus_one_to_one", align_corners=align,
    )  # fmt: skip
    close(got, F.grid_sample(x, points, sampling, torchs, align), 1e-4)


def test_resample_takes_pixels_shares_and_another_value_outside() -> None:
    x = torch.arange(6.0).reshape(1, 1, 2, 3)
    shared: dict[str, Any] = {
        "sampling_mode": "bilinear",
        "padding_mode": "constant",
        "padding_value": 9.0,
        "align_corners": True,
    }
    pixels = rule("resample", x=x, coordinates=[[[[1.5, 0.0], [5.0, 5.0]]]], coordinates_mode="unnormalized", **shared)
    assert pixels.tolist() == [[[[1.5, 9.0]]]]
    shares = rule("resample", x=x, coordinates=[[[[0.5, 1.0]]]], coordinates_mode="normalized_zero_to_one", **shared)
    assert shares.item() == 4.0


def test_affine_is_torchs_grid() -> None:
    x, matrix = noise(2, 3, 5, 6), torch.tensor([[0.9, 0.2, 0.1, -0.1, 1.1, 0.2]])
    got = rule(
        "affine", x=x, transform_matrix=matrix, output_height=4, output_width=7, sampling_mode="bilinear",
        padding_mode="constant", padding_value=0.0, coordinates_mode="normalized_minus_one_to_one", align_corners=True,
    )  # fmt: skip
    grid = F.affine_grid(matrix.reshape(1, 2, 3).expand(2, 2, 3), [2, 3, 4, 7], True)
    close(got, F.grid_sample(x, grid, align_corners=True), 1e-4)


def test_non_maximum_suppression_keeps_the_best_of_those_that_overlap() -> None:
    boxes = [[[0.0, 0.0, 2.0, 2.0], [0.1, 0.0, 2.0, 2.0], [9.0, 9.0, 2.0, 2.0], [5.0, 5.0, 1.0, 1.0]]]
    scores = [[[0.6, 0.1], [0.1, 0.9], [0.5, 0.2], [0.05, 0.05]]]
    limits = {"iou_threshold": 0.5, "score_threshold": 0.2, "max_boxes": 3}
    kept, kept_scores, indices, count = every("non_maximum_suppression", boxes=boxes, scores=scores, **limits)
    assert indices.tolist() == [[1, 2, -1]]
    assert count.tolist() == [2]
    assert kept[0, 1].tolist() == [9.0, 9.0, 2.0, 2.0]
    assert kept_scores[0, 2].tolist() == [0.0, 0.0]
    each = every("non_maximum_suppression", boxes=boxes, scores=scores, per_class_suppression=True, **limits)
    assert each[2].tolist() == [[1, 0, 2]]


def test_crop_resize_cuts_boxes_in_every_convention() -> None:
    x = torch.arange(36.0).reshape(1, 1, 6, 6)
    size = {"target_height": 2, "target_width": 2, "sampling_mode": "STRICT_ALIGN_CORNERS"}
    corners = [[7.0, 9.0], [19.0, 21.0]]
    for mode, box in {
        "CORNERS_HEIGHT_FIRST": [1.0, 1.0, 3.0, 3.0],
        "CORNERS_WIDTH_FIRST": [1.0, 1.0, 3.0, 3.0],
        "CENTER_SIZE_HEIGHT_FIRST": [2.0, 2.0, 2.0, 2.0],
        "CENTER_SIZE_WIDTH_FIRST": [2.0, 2.0, 2.0, 2.0],
    }.items():
        got = rule("crop_resize", x=x, boxes=[box], box_indices=[0], box_coordinate_mode=mode, **size)
        assert got.tolist() == [[corners]]
    wide = rule("crop_resize", x=x, boxes=[[0.0, 2.0, 1.0, 4.0]], box_coordinate_mode="CORNERS_HEIGHT_FIRST", **size)
    turned = rule("crop_resize", x=x, boxes=[[2.0, 0.0, 4.0, 1.0]], box_coordinate_mode="CORNERS_WIDTH_FIRST", **size)
    assert wide.tolist() == turned.tolist() == [[[[2.0, 4.0], [8.0, 10.0]]]]
    share = rule("crop_resize", x=x, boxes=[[0.0, 0.0, 1.0, 1.0]], normalized_coordinates=True, **size)
    assert share.tolist() == [[[[0.0, 5.0], [30.0, 35.0]]]]
    older = rule(
        "crop_resize", x=x, roi=torch.tensor([0.0, 2.0, 2.0, 6.0, 6.0]).reshape(1, 1, 5, 1, 1), spatial_scale=0.5, **size
    )
    assert older.tolist() == [[[corners]]]
    for_all = rule("crop_resize", x=x.expand(3, 1, 6, 6), roi=torch.tensor([1.0, 1.0, 3.0, 3.0]).reshape(1, 1, 4, 1, 1), **size)
    assert for_all.shape == (1, 3, 1, 2, 2)
