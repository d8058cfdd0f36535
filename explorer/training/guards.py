"""Stops a training at NaN and infinity, before they reach the weights, and says where they came from."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.reporter import Reporter

MEND_STEPS = "lower learning_rate, or set clip_grad_norm"
MEND_DATA = "mend or leave out the samples with missing values"


class NotFiniteError(ExplorerError):
    """A NaN or an infinity was met."""


@dataclass(frozen=True)
class Place:
    """Where a training is: step and epoch count from 1, the batch within its epoch from 1."""

    step: int
    epoch: int
    batch: int

    def __str__(self) -> str:
        return f"step {self.step}, epoch {self.epoch}, batch {self.batch}"


def stop(report: Reporter, what: str, place: Place, remedy: str = MEND_STEPS) -> NoReturn:
    """End the training with a finding and the error that says the same."""
    report.finding("error", what, str(place), remedy)
    raise NotFiniteError(f"{what} at {place}", remedy)


def stop_at_loss(
    report: Reporter, value: float, place: Place, data: Any, module: nn.Module, before: Place, *, looked: bool
) -> NoReturn:
    """Say why a loss is not finite: its data, weights that the step `before` spoilt, or the step itself.

    `looked`: the gradients of the step before were seen to be finite.
    """
    if not all(finite(tensor) for tensor in floating(data)):
        stop(report, "NaN in the data", place, MEND_DATA)
    if name := spoilt(trained(module)):
        stop(report, f"{'infinity in the update' if looked else 'NaN in the gradient'} of {name}", before)
    stop(report, f"{'NaN' if math.isnan(value) else 'infinity'} in the loss", place)


def stop_at_gradient(report: Reporter, module: nn.Module, place: Place) -> None:
    """End the training at a gradient that is not finite; returns when all are, as when only their sum was too large."""
    if what := bad_gradient(module):
        stop(report, what, place)


def bad_gradient(module: nn.Module) -> str:
    """The first gradient that is not finite, by parameter; empty without one."""
    for name, parameter in module.named_parameters():
        if parameter.grad is not None and not finite(parameter.grad):
            return f"{'NaN' if bool(parameter.grad.isnan().any()) else 'infinity'} in the gradient of {name}"
    return ""


def seem_finite(gradients: list[torch.Tensor]) -> bool:
    """Whether the sum of all gradients is finite, as it never is when one is not. Reads a device once; overflow says False."""
    if not gradients:
        return True
    sums = [gradient.sum() for gradient in gradients]
    # On the CPU reading each sum takes half the time of joining them.
    return math.isfinite(sum(map(float, sums)) if sums[0].is_cpu else torch.stack(sums).sum().item())


def finite(tensor: torch.Tensor) -> bool:
    """Whether no value is NaN or infinite."""
    return bool(torch.isfinite(tensor).all())


def spoilt(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """The name of the first tensor with a value that is not finite; empty without one."""
    return next(not_finite(tensors), "")


def not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> Iterator[str]:
    """The names of those with a value that is not finite."""
    return (name for name, tensor in tensors if tensor.is_floating_point() and not finite(tensor))


def trained(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """The parameters that learn. Others and buffers may hold infinities, as masks do."""
    return [(name, parameter) for name, parameter in module.named_parameters() if parameter.requires_grad]


def floating(data: Any) -> list[torch.Tensor]:
    """Every floating point tensor in nested tuples, lists and dicts."""
    if isinstance(data, torch.Tensor):
        return [data] if data.is_floating_point() else []
    if isinstance(data, dict):
        data = list(data.values())
    return [tensor for item in data for tensor in floating(item)] if isinstance(data, list | tuple) else []
