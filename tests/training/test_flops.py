import random
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import fit
from explorer.training.flops import flops_per_sample
from explorer.training.train import run

CLASSES = torch.tensor([0, 1, 2, 0])
SHORT = TrainSpec(epochs=1, threads=1, log_every_steps=9)


def test_a_linear_layer() -> None:
    """Forward, and backward for the weight alone: the input needs no gradient."""
    assert flops_per_sample(nn.Linear(5, 3), torch.randn(4, 5), CLASSES) == 2 * 2 * 5 * 3


def test_a_layer_below_another_adds_its_input_gradient() -> None:
    module = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    assert flops_per_sample(module, torch.randn(4, 5), CLASSES) == 2 * 2 * 5 * 7 + 3 * 2 * 7 * 3


def test_convolution_recurrence_and_attention_are_counted() -> None:
    conv = nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    assert flops_per_sample(conv, torch.randn(4, 3, 6, 6), CLASSES) == 2 * 2 * (3 * 4 * 4) * 9

    up = nn.Sequential(nn.ConvTranspose2d(2, 6, 2, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    assert flops_per_sample(up, torch.randn(4, 2, 5, 5), CLASSES) == 2 * 2 * (2 * 5 * 5) * (3 * 2 * 2)

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(5, 3, batch_first=True)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            last: torch.Tensor = self.lstm(inputs)[0][:, -1]
            return last

    counted = flops_per_sample(Last(), torch.randn(4, 2, 5), CLASSES)
    assert counted is not None
    assert counted > 2 * 2 * 12 * (5 + 3)
    attention = nn.Sequential(nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(12, 3))
    counted = flops_per_sample(attention, torch.randn(4, 2, 6), CLASSES)
    assert counted is not None
    assert counted > 3 * 2 * 2 * (4 * 36 + 2 * 48)


def test_module_gradients_and_generators_are_left_alone() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
            self.calls = 0

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            outputs: torch.Tensor = self.layers(inputs)
            return outputs + torch.rand(3, device="cpu").sum().item() * 0

    module = Noisy().eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    states = torch.get_rng_state(), random.getstate(), str(np.random.get_state())
    assert flops_per_sample(module, torch.randn(4, 5, generator=torch.Generator().manual_seed(0)), CLASSES) == 2 * 2 * 15
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert str(np.random.get_state()) == states[2]
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert not module.training
    assert module.calls == 0


def test_what_branches_on_values_is_not_counted() -> None:
    class Branching(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return super().forward(input if input.sum() > 0 else -input)

    assert flops_per_sample(Branching(5, 3), torch.randn(4, 5), CLASSES) is None


def test_training_is_the_same_bit_by_bit_without_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = run(SHORT, QuietReporter(tmp_path / "counted"))
    monkeypatch.setattr(fit, "flops_per_sample", lambda *arguments: None)
    plain = run(SHORT, QuietReporter(tmp_path / "plain"))
    assert (counted.flops_per_sample or 0) > 3 * 2 * 5_000
    assert plain.flops_per_sample is None
    assert counted.metrics == plain.metrics
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("counted", "plain"))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_speed_is_the_median_of_what_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.loop.LEAST_INTERVAL_S", 0.0)
    report = QuietReporter(tmp_path)
    result = run(SHORT, report)
    said = [values["samples_per_s"][0] for _, values in report.metrics if "samples_per_s" in values]
    assert len(said) >= 5
    assert result.samples_per_s == statistics.median(said)
