"""One optimization step, with nothing in it but the work."""

from collections.abc import Callable

import torch
from torch import nn

from explorer.schemas.specs import TrainSpec
from explorer.training.evaluate import loss_of
from explorer.training.optimizers import learning_rate, make_optimizer
from explorer.training.precision import make_amp

Guard = Callable[[torch.Tensor, torch.Tensor | None], None]


class Learner:
    """A module with all that changes it: optimizer, learning rate, precision."""

    def __init__(self, module: nn.Module, spec: TrainSpec, device: str, total_steps: int) -> None:
        self.module = module
        self.spec = spec
        self.device = device
        self.total_steps = total_steps
        self.optimizer = make_optimizer(module, spec)
        self.amp = make_amp(spec.precision, device)
        self.rate = spec.learning_rate

    def step(self, step: int, inputs: torch.Tensor, targets: torch.Tensor, guard: Guard | None = None) -> torch.Tensor:
        """Learn from one batch and give its loss, detached and still on the device.

        `guard` sees loss and gradient norm (None unless clipping) before the weights change, and may raise.
        """
        self.rate = learning_rate(self.spec, step, self.total_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        self.optimizer.zero_grad(set_to_none=True)
        with self.amp.autocast:
            loss = loss_of(self.module(inputs), targets, self.spec.label_smoothing)
        self._backward(loss)
        norm = self._clip()
        if guard is not None:
            guard(loss, norm)
        self._update()
        return loss.detach()

    def _backward(self, loss: torch.Tensor) -> None:
        if self.amp.scaler is None:
            loss.backward()  # type: ignore[no-untyped-call]
        else:
            self.amp.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def _clip(self) -> torch.Tensor | None:
        if self.spec.clip_grad_norm is None:
            return None
        if self.amp.scaler is not None:
            self.amp.scaler.unscale_(self.optimizer)
        return torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.spec.clip_grad_norm)

    def _update(self) -> None:
        if self.amp.scaler is None:
            self.optimizer.step()
        else:
            self.amp.scaler.step(self.optimizer)
            self.amp.scaler.update()
