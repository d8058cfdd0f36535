import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.results import TorchModel
from explorer.schemas.specs import TrainSpec
from explorer.training.train import run
from tests.training.reporters import Scripted

STEPS_PER_EPOCH = 45
LINEAR = TrainSpec(source="samples/simple_model.py:simple_model", data="linear", epochs=20, learning_rate=0.02, threads=1)
SHORT = TrainSpec(epochs=2, threads=1, log_every_steps=20)


@pytest.fixture(autouse=True)
def control_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted reporters count the calls of `control`."""
    monkeypatch.setattr("explorer.training.loop.CONTROL_INTERVAL_S", 0.0)


def test_default_spec_learns_the_digits(tmp_path: Path) -> None:
    report = Scripted(tmp_path)
    result = run(TrainSpec(threads=1), report)
    assert result.metrics["test_accuracy"] >= 0.98
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
    assert set(result.metrics) == {"loss", "val_loss"}
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


def test_command_writes_a_checkpoint_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []
    monkeypatch.setattr("explorer.training.fit.save_checkpoint", lambda learner, step, loss, report: saved.append(step))
    run(SHORT.model_copy(update={"checkpoint_every_steps": 0}), Scripted(tmp_path, checkpoint_at=13))
    assert saved == [13, 90]
    saved.clear()
    run(SHORT.model_copy(update={"checkpoint_every_steps": 40}), QuietReporter(tmp_path))
    assert saved == [40, 80, 90]


def test_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"garbage")
    with pytest.raises(ExplorerError, match=r"checkpoint\.pt does not fit this training .*remove it"):
        run(SHORT, QuietReporter(tmp_path))


def test_nan_stops_the_run_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n  def __init__(self):\n    super().__init__()\n"
        "    self.layer = nn.Linear(10, 1)\n    self.calls = 0\n"
        "  def forward(self, x):\n    self.calls += self.training\n"
        "    return self.layer(x) * (float('nan') if self.calls == 30 else 1)\n"
    )
    spec = LINEAR.model_copy(update={"source": f"{tmp_path}/net.py:Net", "checkpoint_every_steps": 10})
    with pytest.raises(ExplorerError, match="NaN in loss at step 30: lower learning_rate"):
        run(spec, QuietReporter(tmp_path))
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert state["step"] == 20
    assert all(bool(torch.isfinite(tensor).all()) for tensor in state["model"].values())


def test_exploding_run_is_stopped(tmp_path: Path) -> None:
    spec = LINEAR.model_copy(update={"optimizer": "sgd", "learning_rate": 10.0, "schedule": "constant"})
    with pytest.raises(ExplorerError, match=r"(NaN|infinity) in loss at step \d+"):
        run(spec, QuietReporter(tmp_path))


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
    with pytest.raises(ExplorerError, match=r"gives shape \(2, 3\) for two digits samples, not \(2, 10\)"):
        run(SHORT.model_copy(update={"source": f"{tmp_path}/net.py:net"}), QuietReporter(tmp_path))


def test_training_can_start_from_weights(tmp_path: Path) -> None:
    run(LINEAR, QuietReporter(tmp_path / "first"))
    again = LINEAR.model_copy(
        update={"weights": str(tmp_path / "first" / "model.safetensors"), "epochs": 1, "learning_rate": 1e-6}
    )
    assert run(again, QuietReporter(tmp_path / "second")).metrics["val_loss"] < 0.015
