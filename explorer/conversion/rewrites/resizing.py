"""Resizing as one matrix product for each axis.

coremltools lacks bicubic, trilinear and nearest-exact (coremltools#1747), and drops `antialias` without a word. Every resize is
linear and separable, so torch itself gives the matrix of an axis: the resize of the unit vectors.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed

ONE_AXIS = {"trilinear": "linear"}
LACKING = ("bicubic", "trilinear", "linear", "nearest-exact")


def resized(
    constants: Constants,
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """`F.interpolate` of (batch, channels, *spatial) for the modes that the converter lacks."""
    sizes = [fixed(item) for item in x.shape[2:]]
    if not (mode in LACKING or antialias or len(sizes) == 3) or mode == "area":
        return NotImplemented
    for at, length in enumerate(sizes):
        if length is None:
            return NotImplemented
        wanted, scale = _item(size, at), _item(scale_factor, at)
        keywords = _keywords(mode, align_corners, recompute_scale_factor, antialias)
        key = (
            "_".join(str(item) for item in (mode, length, wanted, scale, *keywords.values())).replace(".", "p").replace("-", "_")
        )
        matrix = constants.get(f"resize_{key}", partial(_matrix, length, wanted, scale, keywords))
        if matrix is None:
            return NotImplemented
        axis = at + 2
        x = torch.matmul(x.transpose(axis, -1), matrix).transpose(axis, -1)
    return x


def _keywords(mode: str, corners: bool | None, recompute: bool | None, antialias: bool) -> dict[str, Any]:
    mode = ONE_AXIS.get(mode, mode)
    return {"mode": mode, "align_corners": corners, "recompute_scale_factor": recompute, "antialias": antialias}


def _matrix(length: int, size: int | None, scale: float | None, keywords: dict[str, Any]) -> Tensor:
    """(length, new length): a row vector times this is the resized vector."""
    units = torch.eye(length, dtype=torch.float64)[:, None]
    if keywords["mode"] not in ("bilinear", "bicubic"):
        return F.interpolate(units, size=size, scale_factor=scale, **keywords)[:, 0].float()
    # Along the width: torch takes a stack of columns for another memory layout and mixes them up.
    sides = None if size is None else (1, size)
    scales = None if scale is None else (1.0, scale)
    return F.interpolate(units[:, :, None], size=sides, scale_factor=scales, **keywords)[:, 0, 0].float()


def _item(value: Any, at: int) -> Any:
    """The entry of an axis: a number holds for all of them."""
    chosen = value[at] if isinstance(value, (tuple, list, torch.Size)) else value
    return int(chosen) if isinstance(chosen, Tensor) else chosen


RULES = (Rule((F.interpolate,), "a resize as matrix products (coremltools#1747)", resized),)
