"""Stops a training at NaN and infinity, before they reach the weights, and says where they came from."""

import cmath
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.reporter import Reporter

MEND_STEPS = "lower learning_rate, or set clip_grad_norm"
MEND_HALF = "its weights are float16: keep them in float32, and take precision float16 or bfloat16"
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
        stop(report, bad_update(module) if looked else f"NaN in the gradient of {name}", before, remedy_for(module))
    stop(report, f"{'NaN' if math.isnan(value) else 'infinity'} in the loss", place)


def remedy_for(module: nn.Module) -> str:
    """Against steps that spoil the weights."""
    return MEND_HALF if any(parameter.dtype == torch.float16 for _, parameter in trained(module)) else MEND_STEPS


def stop_at_gradient(report: Reporter, module: nn.Module, place: Place) -> None:
    """End the training at a gradient that is not finite; returns when all are, as when only their sum was too large."""
    if what := bad_gradient(module):
        stop(report, what, place)


def bad_gradient(module: nn.Module) -> str:
    """The first gradient that is not finite, by parameter; empty without one."""
    gradients = ((name, parameter.grad) for name, parameter in module.named_parameters() if parameter.grad is not None)
    return next((f"{_kind(tensor)} in the gradient of {name}" for name, tensor in gradients if not finite(tensor)), "")


def bad_update(module: nn.Module) -> str:
    """The first parameter that an update, from a finite gradient, made not finite; empty without one."""
    return next((f"{_kind(tensor)} in the update of {name}" for name, tensor in trained(module) if not finite(tensor)), "")


def seem_finite(gradients: list[torch.Tensor]) -> bool:
    """Whether the sum of all gradients is finite, as it never is when one is not. Reads a device once; overflow says False."""
    if not gradients:
        return True
    sums = [gradient.sum() for gradient in gradients]
    # On the CPU reading each sum takes half the time of joining them.
    return cmath.isfinite(sum([value.item() for value in sums]) if sums[0].is_cpu else torch.stack(sums).sum().item())


def finite(tensor: torch.Tensor) -> bool:
    """Whether no value is NaN or infinite."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    return bool(torch.isfinite(tensor if tensor.itemsize > 1 else tensor.float()).all())  # not made for float8


def _kind(tensor: torch.Tensor) -> str:
    return "NaN" if bool(tensor.isnan().any()) else "infinity"


def spoilt(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """The name of the first tensor with a value that is not finite; empty without one."""
    return next(not_finite(tensors), "")


def not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> Iterator[str]:
    """The names of those with a value that is not finite."""
    return (name for name, tensor in tensors if not finite(tensor))


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
