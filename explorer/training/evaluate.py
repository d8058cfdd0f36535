"""Loss and accuracy on held-out data."""

import torch
from torch import nn
from torch.nn import functional as F

from explorer.datasets.load import Dataset
from explorer.errors import ExplorerError
from explorer.models.user_code import blamed
from explorer.reporter import Reporter

BATCH_SIZE = 256


def loss_of(outputs: torch.Tensor, targets: torch.Tensor, label_smoothing: float = 0.0) -> torch.Tensor:
    """Mean cross-entropy for classes (int64 targets), mean squared error for values."""
    if targets.dtype == torch.int64:
        return F.cross_entropy(outputs, targets, label_smoothing=label_smoothing)
    return F.mse_loss(outputs, targets)


def evaluate(module: nn.Module, dataset: Dataset, device: str, report: Reporter | None = None) -> tuple[float, float | None]:
    """Mean loss and accuracy (None without classes) over a data set, in eval mode; the module's mode is restored.

    `report.control()` is asked between batches.
    """
    training = module.training
    module.eval()
    total, right = 0.0, 0
    try:
        with torch.no_grad():
            for start in range(0, len(dataset), BATCH_SIZE):
                if report is not None:
                    report.control()
                targets = torch.from_numpy(dataset.targets[start : start + BATCH_SIZE]).to(device)
                outputs = module(torch.from_numpy(dataset.inputs[start : start + BATCH_SIZE]).to(device)).float()
                total += loss_of(outputs, targets).item() * len(targets)
                if dataset.classes is not None:
                    right += int((outputs.argmax(dim=1) == targets).sum().item())
    finally:
        module.train(training)
    return total / len(dataset), right / len(dataset) if dataset.classes is not None else None


def check_fit(module: nn.Module, dataset: Dataset, device: str) -> None:
    """Run two samples through the module; raises `ExplorerError` when it cannot take them or answers in another shape."""
    inputs = torch.from_numpy(dataset.inputs[:2]).to(device)
    wanted = (2, dataset.classes) if dataset.classes is not None else dataset.targets[:2].shape
    training = module.training
    module.eval()
    with (
        torch.no_grad(),
        blamed(f"the model cannot take {dataset.name} samples of shape {tuple(inputs.shape[1:])}", "choose other data"),
    ):
        outputs = module(inputs)
    module.train(training)
    if not isinstance(outputs, torch.Tensor):
        raise ExplorerError(f"the model gives {type(outputs).__name__}, not a tensor", "return the logits alone")
    if tuple(outputs.shape) != tuple(wanted):
        raise ExplorerError(
            f"the model gives shape {tuple(outputs.shape)} for two {dataset.name} samples, not {tuple(wanted)}",
            "mend its last layer or choose other data",
        )
