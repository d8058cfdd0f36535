"""Activation functions."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "tanh": torch.tanh,
}


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def activation(*, x: Tensor) -> Tensor:
        return function(x)

    return activation


for name, function in ACTIVATIONS.items():
    rule(name)(_unary(function))


@rule("gelu")
def gelu(*, x: Tensor, mode: str = "EXACT") -> Tensor:
    if mode == "TANH_APPROXIMATION":
        return F.gelu(x, approximate="tanh")
    if mode == "SIGMOID_APPROXIMATION":
        return x * torch.sigmoid(1.702 * x)
    return F.gelu(x)


@rule("leaky_relu")
def leaky_relu(*, x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x >= 0, x, alpha * x)


@rule("prelu")
def prelu(*, x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x >= 0, x, _per_channel(alpha, x) * x)


@rule("elu")
def elu(*, x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x > 0, x, alpha * torch.expm1(x))


@rule("clamped_relu")
def clamped_relu(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.minimum(torch.where(x >= 0, x, alpha * x), beta)


@rule("linear_activation")
def linear_activation(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return alpha * x + beta


@rule("scaled_tanh")
def scaled_tanh(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return alpha * torch.tanh(beta * x)


@rule("sigmoid_hard")
def sigmoid_hard(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.clamp(alpha * x + beta, 0.0, 1.0)


@rule("softplus_parametric")
def softplus_parametric(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return _per_channel(alpha, x) * F.softplus(_per_channel(beta, x) * x)


@rule("thresholded_relu")
def thresholded_relu(*, x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x >= alpha, x, torch.zeros_like(x))


@rule("softmax")
def softmax(*, x: Tensor, axis: int = -1) -> Tensor:
    return torch.softmax(x, axis)


def _per_channel(values: Tensor, x: Tensor) -> Tensor:
    """(C,) shaped to broadcast along the second axis of `x`."""
    return values.reshape([1, -1] + [1] * (x.ndim - 2))
