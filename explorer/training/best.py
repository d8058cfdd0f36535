"""Which validation was the best, its weights, and when to give up waiting for a better one."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec


class Best:
    """Follows the validations: by `val_accuracy` where there is one, else by `val_loss`. NaN is never better.

    Keeps a copy of the best weights on the CPU when the spec says `keep_best`.
    """

    def __init__(self, spec: TrainSpec, *, can_validate: bool) -> None:
        if not can_validate and (spec.keep_best or spec.early_stopping_epochs or spec.schedule == "plateau"):
            asked = "keep_best" if spec.keep_best else "early_stopping_epochs"
            asked = asked if spec.keep_best or spec.early_stopping_epochs else "schedule plateau"
            raise ExplorerError(
                f"{asked} needs validation, and no data is held out", "leave it out, or hold data out with validation=0.2"
            )
        self.spec = spec
        self.step: int | None = None
        self.waited = 0
        self._score: float | None = None
        self._weights: dict[str, torch.Tensor] = {}
        self.metrics: dict[str, float] = {}

    @property
    def given_up(self) -> bool:
        """Whether as many validations as the spec allows went by without a better one."""
        patience = self.spec.early_stopping_epochs
        return patience is not None and self.waited >= patience

    def validated(self, step: int, metrics: Mapping[str, float], module: nn.Module) -> None:
        """Take in one validation; the weights are copied when it is the best so far."""
        score = metrics.get("val_accuracy", -metrics["val_loss"])
        better = score == score and (self._score is None or score > self._score)
        self.waited = 0 if better else self.waited + 1
        if better:
            self._score, self.step, self.metrics = score, step, dict(metrics)
            if self.spec.keep_best:
                self._weights = {name: value.detach().cpu().clone() for name, value in module.state_dict().items()}

    def give(self, module: nn.Module) -> bool:
        """Put the best weights into the module; False when there are none."""
        if not self._weights:
            return False
        module.load_state_dict(self._weights)
        return True

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs, the weights included."""
        return {"step": self.step, "waited": self.waited, "score": self._score, "metrics": self.metrics, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step, self.waited = state["step"], state["waited"]
        self._score, self.metrics, self._weights = state["score"], state["metrics"], state["weights"]
