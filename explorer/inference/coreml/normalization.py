"""Normalization layers."""

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import ints, rule


@rule("batch_norm")
def batch_norm(
    *, x: Tensor, mean: Tensor, variance: Tensor, epsilon: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None
) -> Tensor:
    return F.batch_norm(x, mean, variance, gamma, beta, False, 0.0, float(epsilon))


@rule("layer_norm")
def layer_norm(*, x: Tensor, axes: Tensor, epsilon: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None) -> Tensor:
    over = sorted(axis % x.ndim for axis in ints(axes))
    shape = [x.shape[axis] if axis in over else 1 for axis in range(x.ndim)]
    output = _standardized(x, over, epsilon)
    output = output if gamma is None else output * gamma.reshape(shape)
    return output if beta is None else output + beta.reshape(shape)


@rule("instance_norm")
def instance_norm(*, x: Tensor, epsilon: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None) -> Tensor:
    shape = [1, -1] + [1] * (x.ndim - 2)
    output = _standardized(x, list(range(2, x.ndim)), epsilon)
    output = output if gamma is None else output * gamma.reshape(shape)
    return output if beta is None else output + beta.reshape(shape)


@rule("l2_norm")
def l2_norm(*, x: Tensor, epsilon: Tensor) -> Tensor:
    return x / torch.sqrt(x.square().sum((-3, -2, -1), keepdim=True) + epsilon)


@rule("local_response_norm")
def local_response_norm(*, x: Tensor, size: Tensor, alpha: Tensor, beta: Tensor, k: Tensor) -> Tensor:
    return F.local_response_norm(x, int(size), float(alpha), float(beta), float(k))


def _standardized(x: Tensor, axes: list[int], epsilon: Tensor) -> Tensor:
    centred = x - x.mean(axes, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(axes, keepdim=True) + epsilon)
