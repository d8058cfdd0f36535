"""The parts of one optimization step, with nothing in them but the work."""

from collections.abc import Mapping
from contextlib import nullcontext

import torch
from torch import nn

from explorer.schemas.specs import TrainSpec
from explorer.training import guards
from explorer.training.batches import Batch
from explorer.training.optimizers import make_optimizer
from explorer.training.precision import make_amp
from explorer.training.schedules import Rate
from explorer.training.user_step import StepFunction


class Learner:
    """A module with all that changes it: step function, optimizer, learning rate, precision.

    `called` is what steps call: the module itself, or what wraps it in data parallel. A step is `begin`, then `forward` and
    `backward` for each of its batches, then `update`; `average` and `clip` before that where they are needed. `infinite` names
    what is stored with infinities from the beginning, such as a mask.
    """

    def __init__(
        self, module: nn.Module, spec: TrainSpec, step: StepFunction, device: str, rate: Rate, called: nn.Module | None = None
    ) -> None:
        self.module = module
        self.called = module if called is None else called
        self.spec = spec
        self.function = step
        self.device = device
        self.schedule = rate
        self.optimizer = make_optimizer(module, spec)
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.infinite = set(guards.not_finite(module.state_dict().items()))
        self.amp = make_amp(spec.precision, device)
        # Entering a context that does nothing still costs half a microsecond.
        self.mixed = not isinstance(self.amp.autocast, nullcontext)
        self.rate = spec.learning_rate

    def begin(self, step: int) -> None:
        """Forget the last gradients and set the rate of `step` (from 0)."""
        self.set_rate(self.schedule.at(step))
        self.optimizer.zero_grad(set_to_none=True)

    def set_rate(self, rate: float) -> None:
        """Let the next updates have this learning rate."""
        self.rate = rate
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def forward(self, batch: Batch) -> Mapping[str, torch.Tensor]:
        """The loss and whatever else the step function gives."""
        if not self.mixed:
            return self.function(self.called, batch.data)
        with self.amp.autocast:
            return self.function(self.called, batch.data)

    def backward(self, loss: torch.Tensor) -> None:
        """Add the loss's gradients."""
        if self.amp.scaler is not None:
            loss = self.amp.scaler.scale(loss)
        loss.backward()  # type: ignore[no-untyped-call]

    def gradients(self) -> list[torch.Tensor]:
        """Those that there are after `backward`."""
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    def average(self, share: float) -> None:
        """Divide the gradients by `share`: a step at the end of an epoch may have had fewer batches than planned."""
        for gradient in self.gradients():
            gradient.div_(share)

    def unscale(self) -> None:
        """With a scaler: bring the gradients to their true size, once a step."""
        if self.amp.scaler is not None:
            self.amp.scaler.unscale_(self.optimizer)

    def clip(self, norm: torch.Tensor) -> None:
        """Scale the gradients, whose norm is `norm`, down to `clip_grad_norm`. Unscale before."""
        if self.spec.clip_grad_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(self.parameters, self.spec.clip_grad_norm, norm)

    def update(self) -> None:
        """Change the weights; with a scaler, not when a gradient was infinite."""
        if self.amp.scaler is None:
            self.optimizer.step()
        else:
            self.amp.scaler.step(self.optimizer)
            self.amp.scaler.update()
