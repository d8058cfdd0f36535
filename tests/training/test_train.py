import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.datasets.load import load
from explorer.errors import Cancelled, ExplorerError
from explorer.models.sources import resolve
from explorer.reporter import QuietReporter
from explorer.schemas.results import TorchModel
from explorer.schemas.specs import TrainSpec
from explorer.training.evaluate import evaluate_dataset
from explorer.training.train import run
from tests.training.reporters import Scripted

STEPS_PER_EPOCH = 45
LINEAR = TrainSpec(source="samples/simple_model.py:simple_model", data="linear", epochs=20, learning_rate=0.02, threads=1)
SHORT = TrainSpec(epochs=2, threads=1, log_every_steps=20)


@pytest.fixture(autouse=True)
def control_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted reporters count the calls of `control`."""
    monkeypatch.setattr("explorer.training.steering.CONTROL_INTERVAL_S", 0.0)


def test_default_spec_learns_the_digits(tmp_path: Path) -> None:
    report = Scripted(tmp_path)
    result = run(TrainSpec(threads=1), report)
    assert result.alarms == []
    assert result.metrics["test_accuracy"] >= 0.99
    assert result.metrics["val_accuracy"] == result.metrics["test_accuracy"]
    assert set(result.metrics) == {"loss", "val_loss", "val_accuracy", "test_accuracy"}
    assert (result.steps, result.parameters) == (12 * STEPS_PER_EPOCH, 96_124)
    assert result.seconds < 60
    assert report.steps_done[-1] == (540, 540)
    assert "epoch 3/12" in report.messages
    assert len(report.column("loss")) == 540
    assert list(report.column("val_accuracy")) == list(range(STEPS_PER_EPOCH, 541, STEPS_PER_EPOCH))
    assert report.column("lr")[540] < report.column("lr")[27] == pytest.approx(3e-3)
    assert min(report.column("samples_per_s").values()) > 0


def test_linear_data_is_learnt_to_its_noise(tmp_path: Path) -> None:
    result = run(LINEAR, QuietReporter(tmp_path))
    assert set(result.metrics) == {"loss", "val_loss", "val_mae"}
    assert result.metrics["val_loss"] < 0.015


def test_artifacts_build_the_model_again(tmp_path: Path) -> None:
    run(SHORT, QuietReporter(tmp_path))
    record = TorchModel.model_validate_json((tmp_path / "model.json").read_bytes())
    assert (record.source, record.data, record.structure) == ("samples/digits_cnn.py:digits_cnn", "digits", "as_built")
    assert "conv1.weight" in load_file(tmp_path / "model.safetensors")
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert state["step"] == 2 * STEPS_PER_EPOCH


@pytest.mark.parametrize(("cancel_at", "next_step"), [(7, 7), (45, 45), (47, 46), (60, 58)])
def test_cancelled_run_goes_on_bit_for_bit(tmp_path: Path, cancel_at: int, next_step: int) -> None:
    """Cut in the first epoch, at its end, between its two validation batches and in the second epoch."""
    whole = QuietReporter(tmp_path / "whole")
    expected = run(SHORT, whole)
    with pytest.raises(Cancelled):
        run(SHORT, Scripted(tmp_path / "cut", cancel_at=cancel_at))
    assert not (tmp_path / "cut" / "model.safetensors").exists()
    resumed = Scripted(tmp_path / "cut")
    result = run(SHORT, resumed)
    assert any("resumed from the checkpoint" in message for message in resumed.messages)
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert result.metrics["val_loss"] == expected.metrics["val_loss"]
    assert min(resumed.column("loss")) == next_step


def test_finished_run_started_again_only_validates(tmp_path: Path) -> None:
    first = run(SHORT, QuietReporter(tmp_path))
    again = Scripted(tmp_path)
    second = run(SHORT, again)
    assert second.metrics == first.metrics
    assert again.column("loss") == {}


def test_clipping_says_the_gradient_norm(tmp_path: Path) -> None:
    report = Scripted(tmp_path)
    run(LINEAR.model_copy(update={"clip_grad_norm": 0.5, "epochs": 2}), report)
    norms = report.column("grad_norm")
    assert len(norms) == len(report.column("loss"))
    assert all(math.isfinite(norm) for norm in norms.values())


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_mixed_precision_learns(tmp_path: Path, precision: str) -> None:
    spec = TrainSpec(source="samples/tiny_transformer.py:tiny_encoder", epochs=3, threads=1).model_copy(
        update={"precision": precision}
    )
    result = run(spec, QuietReporter(tmp_path))
    assert result.metrics["val_accuracy"] > 0.6
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert bool(state["scaler"]) == (precision == "float16")


@pytest.mark.parametrize(("optimizer", "schedule"), [("adam", "constant"), ("sgd", "cosine")])
def test_other_optimizers_learn(tmp_path: Path, optimizer: str, schedule: str) -> None:
    spec = LINEAR.model_copy(update={"optimizer": optimizer, "schedule": schedule})
    assert run(spec, QuietReporter(tmp_path)).metrics["val_loss"] < 0.1


def test_float64_weights_train_as_float32(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("from torch import nn\ndef net():\n  return nn.Linear(10, 1).double()\n")
    report = QuietReporter(tmp_path)
    run(LINEAR.model_copy(update={"source": f"{tmp_path}/net.py:net", "epochs": 1}), report)
    assert "float64 weights train as float32" in report.messages


BROKEN = """
import torch
from torch import nn
class Takes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(7, 10)
    def forward(self, x):
        return self.layer(x)
class Trains(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 10)
    def forward(self, x):
        if self.training:
            raise RuntimeError("broken inside")
        return self.layer(x.flatten(1))
class Pair(nn.Module):
    def forward(self, x):
        return x, x
"""


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("Takes", r"cannot take digits samples of shape \(1, 8, 8\) at .*broken\.py:9: RuntimeError"),
        ("Trains", r"the model failed in training at .*broken\.py:16: RuntimeError: broken inside"),
        ("Pair", "gives tuple, not a tensor"),
    ],
)
def test_errors_name_the_users_own_line(tmp_path: Path, source: str, sentence: str) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    with pytest.raises(ExplorerError, match=sentence):
        run(SHORT.model_copy(update={"source": f"{tmp_path}/broken.py:{source}"}), QuietReporter(tmp_path))


def test_data_of_another_shape_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="cannot take linear samples"):
        run(SHORT.model_copy(update={"data": "linear"}), QuietReporter(tmp_path))
    (tmp_path / "net.py").write_text("from torch import nn\ndef net():\n  return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))\n")
    with pytest.raises(ExplorerError, match=r"gives shape \(2, 3\) for 2 digits samples, not \(2, 10\)"):
        run(SHORT.model_copy(update={"source": f"{tmp_path}/net.py:net"}), QuietReporter(tmp_path))


def test_training_can_start_from_weights(tmp_path: Path) -> None:
    run(LINEAR, QuietReporter(tmp_path / "first"))
    again = LINEAR.model_copy(
        update={"weights": str(tmp_path / "first" / "model.safetensors"), "epochs": 1, "learning_rate": 1e-6}
    )
    assert run(again, QuietReporter(tmp_path / "second")).metrics["val_loss"] < 0.015


def test_early_stopping_and_the_best_weights(tmp_path: Path) -> None:
    """A rate that is far too high brings validation no further; the weights of the best one are given."""
    spec = LINEAR.model_copy(
        update={
            "optimizer": "sgd",
            "learning_rate": 0.05,
            "schedule": "constant",
            "early_stopping_epochs": 2,
            "keep_best": True,
            "epochs": 60,
        }
    )
    report = Scripted(tmp_path)
    result = run(spec, report)
    losses = report.column("val_loss")
    best = min(losses, key=lambda step: losses[step])
    assert result.steps == best + 2 * 25 < 60 * 25
    assert result.stopped == f"stopped at step {result.steps}: no better validation for 2 epochs"
    assert result.best_step == best
    assert result.metrics["val_loss"] == losses[best]
    module = resolve(LINEAR.source, str(tmp_path / "model.safetensors")).module
    assert evaluate_dataset(module, load("linear", "test"), QuietReporter(tmp_path))["loss"] == pytest.approx(
        losses[best], abs=1e-9
    )


def test_max_steps_ends_within_an_epoch_and_validates(tmp_path: Path) -> None:
    report = Scripted(tmp_path)
    result = run(SHORT.model_copy(update={"max_steps": 50}), report)
    assert (result.steps, result.stopped) == (50, "ended at step 50, as max_steps says")
    assert list(report.column("val_loss")) == [45, 50]
    assert report.steps_done[-1] == (50, 50)
    assert report.column("lr")[50] < 1e-4, "the schedule ends there"
    whole = run(SHORT.model_copy(update={"max_steps": 90}), QuietReporter(tmp_path / "whole"))
    assert (whole.steps, whole.stopped) == (90, "")


def test_a_run_goes_on_with_more_steps(tmp_path: Path) -> None:
    spec = SHORT.model_copy(update={"schedule": "constant"})
    run(spec.model_copy(update={"max_steps": 50}), QuietReporter(tmp_path / "parts"))
    parts = run(spec, QuietReporter(tmp_path / "parts"))
    whole = run(spec, QuietReporter(tmp_path / "whole"))
    assert parts.metrics == whole.metrics


def test_without_held_out_data_nothing_is_validated(tmp_path: Path) -> None:
    report = Scripted(tmp_path)
    result = run(SHORT.model_copy(update={"data": "digits,validation=0", "epochs": 1}), report)
    assert set(result.metrics) == {"loss"}
    assert report.messages.count("no data is held out, so nothing is validated") == 1
    assert result.best_step is None


OWN = """
import torch
from torch import nn
def net():
    return nn.Sequential(nn.Linear(10, 6), nn.Dropout(0.1), nn.Linear(6, 1))
def step(module, batch):
    inputs, targets = batch
    error = module(inputs) - targets
    return {"loss": (error ** 2).mean(), "worst": error.abs().max()}
"""


def test_a_step_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    spec = LINEAR.model_copy(update={"source": f"{tmp_path}/own.py:net", "step": f"{tmp_path}/own.py:step", "epochs": 3})
    report = Scripted(tmp_path)
    result = run(spec, report)
    assert set(result.metrics) == {"loss", "val_loss", "val_worst"}
    assert list(report.column("worst")) == list(range(1, 76))
    assert all(report.column("worst")[step] >= report.column("loss")[step] ** 0.5 for step in range(1, 76))
    assert list(report.column("val_worst")) == [25, 50, 75]


UNPOOLING = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.pool, self.unpool = nn.Linear(10, 1), nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    def forward(self, x):
        if self.training:
            x = self.unpool(*self.pool(x[:, None]))[:, 0]
        return self.layer(x)
"""


def test_deterministic_mode_names_the_operator_without_it(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(UNPOOLING)
    spec = LINEAR.model_copy(update={"source": f"{tmp_path}/net.py:Net", "epochs": 1})
    run(spec, QuietReporter(tmp_path / "free"))
    with pytest.raises(ExplorerError, match=r"operator max_unpooling\S* has no deterministic form on this device"):
        run(spec.model_copy(update={"deterministic": True}), QuietReporter(tmp_path / "bound"))
    assert not torch.are_deterministic_algorithms_enabled()
    run(SHORT.model_copy(update={"deterministic": True, "max_steps": 3}), QuietReporter(tmp_path / "digits"))


def test_a_result_has_what_was_measured(tmp_path: Path) -> None:
    result = run(SHORT, QuietReporter(tmp_path))
    assert result.step_ms.keys() == {"data", "forward", "backward", "optimizer"}
    assert sum(result.step_ms.values()) > 0.1
    assert (result.peak_rss_bytes or 0) > 50_000_000
    assert result.peak_device_bytes is None
    assert (result.processes, result.fallback_operators) == (1, [])


def test_ordinary_runs_raise_no_alarm(tmp_path: Path) -> None:
    constant = LINEAR.model_copy(update={"schedule": "constant"})
    assert run(constant, QuietReporter(tmp_path / "linear")).alarms == []
