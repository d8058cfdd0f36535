"""What is done with a batch: the default supervised step, or the user's own `file.py:step`."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.factories import function_of
from explorer.models.user_code import blamed
from explorer.schemas.specs import TrainSpec
from explorer.training.losses import loss_of

StepFunction = Callable[[nn.Module, Any], Mapping[str, torch.Tensor]]

# An own step has no part in the default, but whoever asks for another share should know.
DEFAULT_SMOOTHING = TrainSpec.model_fields["label_smoothing"].default
RETURN_REMEDY = 'return the loss, a tensor of one value, or a dict such as {"loss": loss, "accuracy": accuracy}'


def step_function(spec: TrainSpec, classes: int | None) -> StepFunction:
    """The step of a training: gives at least "loss", a scalar with its gradient's graph; other scalars are metrics.

    Cross-entropy (with the spec's label smoothing) for int64 targets, mean squared error for others, unless the spec names the
    user's own step. Raises `ExplorerError` when there is no such step, or label smoothing is asked of a task without classes.
    """
    if spec.step is not None:
        if spec.label_smoothing not in (0.0, DEFAULT_SMOOTHING):
            raise ExplorerError(
                f"label_smoothing has no part in the step {spec.step}", "smooth labels there, or leave the option out"
            )
        return UserStep(spec.step)
    return SupervisedStep(spec.label_smoothing)


class SupervisedStep:
    """Loss of `module(inputs)` against `targets`."""

    def __init__(self, label_smoothing: float = 0.0) -> None:
        self.label_smoothing = label_smoothing

    def __call__(self, module: nn.Module, batch: Any) -> dict[str, torch.Tensor]:
        return {"loss": self.loss(module, batch)}

    def loss(self, module: nn.Module, batch: Any) -> torch.Tensor:
        """The loss alone."""
        if type(batch) is not tuple or len(batch) != 2:
            batch = pair(batch)
        return loss_of(module(batch[0]), batch[1], self.label_smoothing)


def pair(batch: Any) -> tuple[Any, Any]:
    """Inputs and targets of a batch; raises `ExplorerError` for a batch that is not such a pair."""
    if isinstance(batch, list | tuple) and len(batch) == 2:
        return batch[0], batch[1]
    if isinstance(batch, Mapping):
        what = f"a dict of {', '.join(str(key) for key in batch)}"
    else:
        what = f"{len(batch)} values" if isinstance(batch, list | tuple) else f"a {type(batch).__name__}"
    raise ExplorerError(
        f"a batch of the data is {what}, not a pair of inputs and targets",
        "give such pairs, or your own step with --step file.py:step",
    )


class UserStep:
    """The user's function, with its returns checked and its exceptions named by file and line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.function = function_of(source)
        code = getattr(self.function, "__code__", None)
        self.place = f"{code.co_filename}:{code.co_firstlineno}" if code else source

    def __call__(self, module: nn.Module, batch: Any) -> dict[str, torch.Tensor]:
        with blamed(f"the step {self.source} failed"):
            given = self.function(module, batch)
        values = given if isinstance(given, Mapping) else {"loss": given}
        if "loss" not in values:
            raise self._wrong(f'gives {", ".join(map(str, values)) or "an empty dict"} without "loss"')
        result = {str(name): self._scalar(str(name), value) for name, value in values.items()}
        if torch.is_grad_enabled() and not result["loss"].requires_grad:
            raise self._wrong(
                "gives a loss without a gradient", "compute it from the module's output, without .item() or no_grad()"
            )
        return result

    def _scalar(self, name: str, value: Any) -> torch.Tensor:
        if isinstance(value, int | float) and name != "loss":
            return torch.tensor(float(value))
        if not isinstance(value, torch.Tensor):
            raise self._wrong(f"gives {type(value).__name__} as {name}")
        if value.numel() != 1:
            raise self._wrong(f"gives {tuple(value.shape)} values as {name}, not one")
        if name == "loss" and not value.is_floating_point():
            raise self._wrong(f"gives a loss of {value.dtype}")
        return value.reshape(()) if name == "loss" else value.detach().reshape(())

    def _wrong(self, what: str, remedy: str = RETURN_REMEDY) -> ExplorerError:
        return ExplorerError(f"the step at {self.place} {what}", remedy)
