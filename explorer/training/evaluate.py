"""Loss, accuracy and error on held-out data."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from explorer.datasets.dataset import Dataset
from explorer.reporter import Reporter
from explorer.training.batches import ArrayBatches, BatchSource
from explorer.training.losses import loss_of
from explorer.training.parallel import ALONE, Group
from explorer.training.user_step import StepFunction, pair

BATCH_SIZE = 256


def supervised(module: nn.Module, data: Any, *, classes: bool) -> dict[str, float]:
    """Mean `loss` of a batch, with `accuracy` for classes or `mae`, the mean absolute error, for values."""
    inputs, targets = pair(data)
    outputs = module(inputs).float()
    values = {"loss": loss_of(outputs, targets).item()}
    if classes:
        values["accuracy"] = int((outputs.argmax(dim=1) == targets).sum().item()) / len(targets)
    elif targets.numel() == outputs.numel():
        values["mae"] = (outputs - targets.reshape(outputs.shape)).abs().mean().item()
    return values


def evaluate(
    module: nn.Module,
    source: BatchSource,
    *,
    step: StepFunction | None = None,
    group: Group = ALONE,
    cut: Callable[[], bool] = lambda: False,
) -> dict[str, float] | None:
    """Means over all samples of all ranks, in eval mode and float32; the module's mode is restored.

    With the user's own `step`, its values. `cut` is asked before every batch; None when it said True.
    """
    training = module.training
    module.eval()
    totals: dict[str, float] = {}
    samples = 0.0
    try:
        with torch.no_grad():
            for batch in source.epoch(0):
                if cut():
                    return None
                for name, value in _values(module, batch.data, source.classes, step).items():
                    totals[name] = totals.get(name, 0.0) + value * batch.samples
                samples += batch.samples
    finally:
        module.train(training)
    return _means(totals, samples, group)


def evaluate_dataset(module: nn.Module, dataset: Dataset, report: Reporter) -> dict[str, float]:
    """`evaluate` on a data set in memory, on the CPU; `report.control()` is asked before every batch."""

    def ask() -> bool:
        report.control()
        return False

    return evaluate(module, _batches(dataset, BATCH_SIZE), cut=ask) or {}


def _values(module: nn.Module, data: Any, classes: int | None, step: StepFunction | None) -> Mapping[str, float]:
    if step is None:
        return supervised(module, data, classes=classes is not None)
    return {name: value.item() for name, value in step(module, data).items()}


def _means(totals: dict[str, float], samples: float, group: Group) -> dict[str, float]:
    """Sums of all ranks over their samples."""
    *sums, count = group.total([*totals.values(), samples])
    return {name: total / max(count, 1.0) for name, total in zip(totals, sums, strict=True)}


def _batches(dataset: Dataset, batch_size: int) -> ArrayBatches:
    return ArrayBatches(dataset, batch_size, 0, lambda data: data, in_order=True)
