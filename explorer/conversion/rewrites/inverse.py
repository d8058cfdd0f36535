"""Inverses of 2x2 and 3x3 matrices in plain arithmetic: neither ONNX nor Core ML inverts (coremltools#2085 asks for the like)."""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import BOTH, Constants, Rule


def inverse(constants: Constants, x: Tensor) -> Any:
    """The adjugate over the determinant; larger matrices are left alone, where this loses too many digits."""
    if x.shape[-1] not in (2, 3) or x.shape[-1] != x.shape[-2]:
        return NotImplemented
    adjugate = _adjugate(x)
    return adjugate / _determinant(x, adjugate)[..., None, None]


def determinant(constants: Constants, x: Tensor) -> Any:
    if x.shape[-1] not in (2, 3) or x.shape[-1] != x.shape[-2]:
        return NotImplemented
    return _determinant(x, _adjugate(x))


def _determinant(x: Tensor, adjugate: Tensor) -> Tensor:
    return (x[..., 0, :] * adjugate[..., :, 0]).sum(-1)


def _adjugate(x: Tensor) -> Tensor:
    if x.shape[-1] == 2:
        first, second = torch.stack([x[..., 1, 1], -x[..., 0, 1]], -1), torch.stack([-x[..., 1, 0], x[..., 0, 0]], -1)
        return torch.stack([first, second], -2)
    rows = [x[..., at, :] for at in range(3)]
    return torch.stack([_cross(rows[1], rows[2]), _cross(rows[2], rows[0]), _cross(rows[0], rows[1])], -1)


def _cross(a: Tensor, b: Tensor) -> Tensor:
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return torch.stack(parts, -1)


RULES = (
    Rule(
        (torch.linalg.inv, torch.inverse, Tensor.inverse),
        "the inverse of a small matrix in plain arithmetic",
        inverse,
        BOTH,
    ),
    Rule((torch.linalg.det, torch.det, Tensor.det), "the determinant of a small matrix in plain arithmetic", determinant),
)
