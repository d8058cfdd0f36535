"""The losses of supervised training, with their refusals in a sentence."""

import torch
from torch.nn import functional as F

from explorer.errors import ExplorerError


def loss_of(outputs: torch.Tensor, targets: torch.Tensor, label_smoothing: float = 0.0) -> torch.Tensor:
    """Mean cross-entropy for classes (int64 targets), mean squared error for values.

    Values are compared in the outputs' shape where only dimensions of one differ: (N,) and (N, 1) would spread to (N, N).
    """
    if targets.dtype == torch.int64:
        try:
            return F.cross_entropy(outputs, targets, label_smoothing=label_smoothing)
        except IndexError:
            raise out_of_range(targets, outputs.shape[1]) from None
    if targets.shape != outputs.shape and targets.numel() == outputs.numel() and len(targets) == len(outputs):
        targets = targets.reshape(outputs.shape)
    return F.mse_loss(outputs, targets)


def out_of_range(targets: torch.Tensor, outputs: int, name: str = "the data") -> ExplorerError:
    """The sentence about labels that a model with `outputs` outputs cannot learn, with one of the samples that hold them."""
    low, high = int(targets.min()), int(targets.max())
    wrong = low if low < 0 else high
    sample = int((targets.flatten() == wrong).nonzero()[0])
    remedy = "number classes from 0" if low < 0 else f"give the model {high + 1} outputs, or mend the labels"
    what = (
        f"label {low} of {name} is negative"
        if low < 0
        else f"the largest label of {name} is {high}, the model has {outputs} outputs"
    )
    return ExplorerError(f"{what} (sample {sample} of its batch)", remedy)
