"""Smoothed targets in the training loss, plain ones in validation."""

from pathlib import Path

import pytest
import torch

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training.losses import loss_of
from explorer.training.train import run


def test_the_loss_of_a_sure_answer_is_what_smoothing_leaves() -> None:
    logits, targets = torch.tensor([[50.0, 0.0]]), torch.tensor([0])
    assert loss_of(logits, targets).item() == pytest.approx(0)
    assert loss_of(logits, targets, 0.1).item() == pytest.approx(0.05 * 50)
    assert loss_of(torch.zeros(1, 1), torch.ones(1, 1), 0.1).item() == pytest.approx(1), "values have no classes to smooth"


def test_training_with_it_keeps_the_training_loss_above_its_floor_and_validates_plainly(tmp_path: Path) -> None:
    result = run(TrainSpec(epochs=3, label_smoothing=0.2, threads=1), QuietReporter(tmp_path))
    assert result.metrics["loss"] > 0.6, (
        "the entropy of targets smoothed by 0.2 over ten classes is 0.94 nats less what is learned"
    )
    assert result.metrics["val_accuracy"] > 0.95
    assert result.metrics["val_loss"] < result.metrics["loss"]
