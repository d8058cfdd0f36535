"""Whether a model and its data fit, found out before the first step: a few samples are run through the whole step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.datasets.dataset import Array, Dataset
from explorer.datasets.random_stream import RandomStream
from explorer.errors import ExplorerError
from explorer.models.user_code import blamed
from explorer.training import guards
from explorer.training.accelerator import Accelerator
from explorer.training.data import TrainingData
from explorer.training.layer_trace import LayerTrace
from explorer.training.nested import first_tensor
from explorer.training.user_batches import UserBatches
from explorer.training.user_step import StepFunction, SupervisedStep, pair

TRIAL_SAMPLES = 2


def check_fit(module: nn.Module, step: StepFunction, data: TrainingData, accelerator: Accelerator) -> None:
    """Run two samples through the step, in eval mode; raises `ExplorerError` when the model or the step cannot take them.

    For the default step the outputs must suit the targets, and every label must have its output. Weights, buffers and random
    numbers stay as they are.
    """
    batch = data.train.first(TRIAL_SAMPLES)
    with RandomStream(0), _evaluating(module):
        if isinstance(step, SupervisedStep):
            outputs = _try_model(module, batch, data.name, data.dataset)
            for source in (data.train, data.held_out):
                if isinstance(source, UserBatches):
                    source.outputs = outputs
        else:
            step(module, batch)
        accelerator.synchronize()
    _check_state(module)  # lazy layers have their weights by now


def check_outputs(module: nn.Module, dataset: Dataset, device: str = "cpu") -> None:
    """As `check_fit`, for samples in memory and a module on `device`."""
    inputs, targets = (torch.from_numpy(array[:TRIAL_SAMPLES].copy()).to(device) for array in (dataset.inputs, dataset.targets))
    with RandomStream(0), _evaluating(module):
        _try_model(module, (inputs, targets), dataset.name, dataset)


def _check_state(module: nn.Module) -> None:
    """Weights to begin with, and nothing that only Python could store."""
    if name := guards.spoilt(guards.trained(module)):
        raise ExplorerError(f"{name} holds NaN or infinity before the first step", "start from other weights")
    for name, value in module.state_dict().items():
        if not isinstance(value, torch.Tensor):
            raise ExplorerError(
                f"the model's {name} is a {type(value).__name__}, and weights and checkpoints hold tensors alone",
                "let get_extra_state give a tensor",
            )


def _try_model(module: nn.Module, batch: Any, name: str, dataset: Dataset | None) -> int | None:
    """How many classes the model tells apart; None where there are none."""
    inputs, targets = pair(batch)
    outputs = _outputs(module, inputs, name)
    if not isinstance(outputs, torch.Tensor):
        raise ExplorerError(
            f"the model gives {type(outputs).__name__}, not a tensor", "return the logits alone, or give your own --step"
        )
    if not isinstance(targets, torch.Tensor):
        raise ExplorerError(f"the targets of {name} are {type(targets).__name__}, not a tensor", "give numbers")
    if targets.dtype == torch.int64:
        _check_classes(outputs, targets, name, dataset)
        return outputs.shape[1]
    if not targets.is_floating_point():
        raise ExplorerError(
            f"the targets of {name} are {_dtype(targets)}, which no loss takes", "give int64 for classes, float32 for values"
        )
    _check_values(outputs, targets, name)
    return None


def _outputs(module: nn.Module, inputs: Any, name: str) -> Any:
    """What the module gives; when it cannot take the inputs, the layer that refused them is named."""
    found = first_tensor(inputs)
    shape = tuple(found.shape[1:]) if found is not None else type(inputs).__name__
    trace = LayerTrace(module)
    try:
        with torch.no_grad(), trace, blamed(f"the model cannot take {name} samples of shape {shape}"):
            return module(inputs)
    except ExplorerError as error:
        if not error.message.startswith("the model cannot take"):
            raise
        layer = f"{trace.refused}; " if trace.refused else ""
        raise ExplorerError(
            error.message, f"{layer}{_dtype_hint(inputs)}choose other data or mend the model"
        ) from error.__cause__


def _dtype_hint(inputs: Any) -> str:
    if isinstance(inputs, torch.Tensor) and not inputs.is_floating_point():
        return f"the inputs are {_dtype(inputs)}, store them as floats if they are no indices; "
    return ""


def _check_classes(outputs: torch.Tensor, targets: torch.Tensor, name: str, dataset: Dataset | None) -> None:
    count = dataset.classes if dataset else None
    if outputs.ndim < 2 or len(outputs) != len(targets) or outputs.shape[2:] != targets.shape[1:]:
        wanted = ", ".join(map(str, (len(targets), count or "classes", *targets.shape[1:])))
        remedy = "mend its last layer or choose other data; numbers to predict are said with task=regression or as floats"
        if targets.ndim > 1 and outputs.shape[:-1] == targets.shape:
            remedy = "its classes come last, as in language models: move them to the second place, or give your own --step"
        raise ExplorerError(
            f"the model gives shape {tuple(outputs.shape)} for {len(targets)} {name} samples, not ({wanted})", remedy
        )
    labels = dataset.targets if dataset else targets.cpu().numpy()
    wrong = _wrong_label(labels, outputs.shape[1])
    if wrong is None:
        return
    label, sample = wrong
    if label < 0:
        raise ExplorerError(f"label {label} of {name} is negative (sample {sample})", "number classes from 0")
    if count is not None:
        what = f"the model gives shape {tuple(outputs.shape)} for {len(targets)} {name} samples, not ({len(targets)}, {count})"
    else:
        what = f"the model has {outputs.shape[1]} outputs"
    raise ExplorerError(
        f"{what}: the largest label is {label} (sample {sample}), which {outputs.shape[1]} outputs do not cover",
        f"mend its last layer to {label + 1} outputs or choose other data",
    )


def _wrong_label(labels: Array, outputs: int) -> tuple[int, int] | None:
    """A label that has no output, the most negative or else the largest, and the sample that has it first."""
    low, high = int(labels.min()), int(labels.max())
    if low >= 0 and high < outputs:
        return None
    label = low if low < 0 else high
    return label, int(np.argmax((labels == label).reshape(len(labels), -1).any(axis=1)))


def _check_values(outputs: torch.Tensor, targets: torch.Tensor, name: str) -> None:
    if len(outputs.shape) == 0 or len(outputs) != len(targets) or outputs.numel() != targets.numel():
        raise ExplorerError(
            f"the model gives shape {tuple(outputs.shape)} for {len(targets)} {name} samples, not {tuple(targets.shape)}",
            "mend its last layer or choose other data; classes are said with task=classification or as integers",
        )


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """In eval mode, with every part put back into its own mode after."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
