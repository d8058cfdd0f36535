"""Normalization layers."""

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("batch_norm")
def batch_norm(
    *, x: Tensor, mean: Tensor, variance: Tensor, epsilon: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None
) -> Tensor:
    return F.batch_norm(x, mean, variance, gamma, beta, False, 0.0, epsilon)


@rule("layer_norm")
def layer_norm(
    *, x: Tensor, axes: list[int], epsilon: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None
) -> Tensor:
    over = sorted(axis % x.ndim for axis in axes)
    if over == list(range(over[0], x.ndim)):
        return F.layer_norm(x, x.shape[over[0] :], gamma, beta, epsilon)
    shape = [x.shape[axis] if axis in over else 1 for axis in range(x.ndim)]
    output = _standardized(x, over, epsilon)
    output = output if gamma is None else output * gamma.reshape(shape)
    return output if beta is None else output + beta.reshape(shape)


@rule("instance_norm")
def instance_norm(*, x: Tensor, epsilon: float = 1e-5, gamma: Tensor | None = None, beta: Tensor | None = None) -> Tensor:
    if x.shape[2:].numel() > 1:
        return F.instance_norm(x, None, None, gamma, beta, True, 0.0, epsilon)
    shape = [1, -1] + [1] * (x.ndim - 2)
    output = _standardized(x, list(range(2, x.ndim)), epsilon)
    output = output if gamma is None else output * gamma.reshape(shape)
    return output if beta is None else output + beta.reshape(shape)


@rule("l2_norm")
def l2_norm(*, x: Tensor, epsilon: float = 1e-6) -> Tensor:
    return x / torch.sqrt(x.square().sum((-3, -2, -1), keepdim=True) + epsilon)


@rule("local_response_norm")
def local_response_norm(*, x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    return F.local_response_norm(x, size, alpha, beta, k)


def _standardized(x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    centred = x - x.mean(axes, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(axes, keepdim=True) + epsilon)
