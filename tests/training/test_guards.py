"""NaN is stopped before it reaches the weights, and what spoilt them is named."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import guards
from explorer.training.batches import Batch
from explorer.training.device_cpu import CpuDevice
from explorer.training.train import run
from tests.training.making import make_stepper, value_batches
from tests.training.reporters import Scripted

BAD_STEP = 32
SPOILT = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 4)
        self.layer = nn.Linear(4, 1)
        self.calls = 0
        self.hidden.weight.register_hook(self.spoil)
    def spoil(self, gradient):
        return gradient * float("nan") if self.kind == "gradient" and self.calls == {BAD_STEP} else gradient
    def forward(self, x):
        self.calls += self.training
        y = self.layer(torch.relu(self.hidden(x)))
        return y * float("nan") if self.kind == "loss" and self.calls == {BAD_STEP} else y
class Loss(Net):
    kind = "loss"
class Gradient(Net):
    kind = "gradient"
"""


def spec_of(folder: Path, name: str, **options: Any) -> TrainSpec:
    (folder / "net.py").write_text(SPOILT)
    values = {"source": f"{folder}/net.py:{name}", "data": "linear", "epochs": 20, "checkpoint_every_steps": 10, "threads": 1}
    return TrainSpec.model_validate(values | options)


def checkpoint_is_finite(folder: Path) -> bool:
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    tensors = [*state["model"].values()]
    tensors += [value for values in state["optimizer"]["state"].values() for value in values.values()]
    return int(state["step"]) == BAD_STEP - 1 and all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("Loss", {}, "NaN in the loss"),
        ("Gradient", {"check_gradients": "always"}, "NaN in the gradient of hidden.weight"),
        ("Gradient", {"clip_grad_norm": 1.0}, "NaN in the gradient of hidden.weight"),
        ("Gradient", {"check_gradients": "auto"}, "NaN in the gradient of hidden.weight"),
        ("Gradient", {"check_gradients": "always", "time_every_steps": BAD_STEP}, "NaN in the gradient of hidden.weight"),
    ],
)
def test_a_nan_names_step_epoch_and_batch(tmp_path: Path, name: str, options: dict[str, Any], what: str) -> None:
    """25 batches make an epoch, so step 32 is batch 7 of epoch 2."""
    report = Scripted(tmp_path)
    with pytest.raises(ExplorerError, match=rf"{what} at step 32, epoch 2, batch 7: lower learning_rate"):
        run(spec_of(tmp_path, name, **options), report)
    assert report.said == [(what, "step 32, epoch 2, batch 7")]
    assert report.findings == [("error", what)]
    assert checkpoint_is_finite(tmp_path)
    assert list(report.column("loss")) == list(range(1, BAD_STEP)), "all steps that came to their end, and no other"


@pytest.mark.parametrize("dear", [False, True])
def test_a_spoilt_last_step_makes_no_checkpoint_but_of_the_step_before(
    tmp_path: Path, dear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether gradients are looked at or steps undone."""
    monkeypatch.setattr("explorer.training.check_interval.EVERY_STEP_SHARE", 0.0 if dear else 1e9)
    spec = spec_of(tmp_path, "Gradient", max_steps=32)
    with pytest.raises(ExplorerError, match=r"NaN in the gradient of hidden\.weight at step 32"):
        run(spec, QuietReporter(tmp_path))
    assert checkpoint_is_finite(tmp_path)


MASKED = """
import torch
from torch import nn
class Net(nn.Linear):
    def __init__(self, start=0.0):
        super().__init__(10, 1)
        self.weight.data[0, 0] += start
        self.register_buffer("mask", torch.full((4, 4), float("-inf")).triu(1))
        self.bound = nn.Parameter(torch.tensor(float("inf")), requires_grad=False)
def spoilt():
    return Net(float("nan"))
"""


@pytest.mark.parametrize("dear", [False, True])
def test_masks_of_infinities_are_no_spoilt_weights(tmp_path: Path, dear: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are parameters that do not learn."""
    monkeypatch.setattr("explorer.training.check_interval.EVERY_STEP_SHARE", 0.0 if dear else 1e9)
    (tmp_path / "net.py").write_text(MASKED)
    spec = TrainSpec(source=f"{tmp_path}/net.py:Net", data="linear", epochs=2, checkpoint_every_steps=10, threads=1)
    report = Scripted(tmp_path)
    assert run(spec, report).steps == 50
    assert report.findings == []
    assert [step.name for step in tmp_path.glob("checkpoint*.pt")] != []


def test_a_mask_beside_a_nan_is_not_named(tmp_path: Path) -> None:
    """The first parameter that holds an infinity would be the bound."""
    (tmp_path / "net.py").write_text(MASKED)
    spec = TrainSpec(
        source=f"{tmp_path}/net.py:Net", data="linear,task=regression", threads=1, learning_rate=10.0, optimizer="sgd"
    )
    with pytest.raises(ExplorerError) as caught:
        run(spec, QuietReporter(tmp_path))
    assert "bound" not in str(caught.value)


def test_weights_in_float16_that_an_update_spoils_are_told_so(tmp_path: Path) -> None:
    """Adam divides by the root of squares plus an epsilon that is zero in float16; here the squares are too."""
    (tmp_path / "net.py").write_text(
        "from torch import nn\nclass Net(nn.Linear):\n"
        "  def forward(self, x):\n    return super().forward(x.half()) * 0.0\ndef net():\n  return Net(10, 1).half()\n"
    )
    spec = TrainSpec(source=f"{tmp_path}/net.py:net", data="linear", threads=1)
    with pytest.raises(ExplorerError, match="NaN in the update of weight at step 1, epoch 1, batch 1: its weights are float16"):
        run(spec, QuietReporter(tmp_path))


def test_complex_weights_and_numbers_of_one_byte_are_looked_at() -> None:
    bad = torch.tensor([complex(0, math.inf)])
    assert not guards.seem_finite([torch.ones(2), bad])
    assert guards.seem_finite([torch.ones(2), torch.tensor([1 + 2j])])
    assert list(guards.not_finite([("a", torch.ones(1)), ("b", bad), ("c", torch.tensor([3]))])) == ["b"]
    assert not guards.finite(torch.tensor([math.nan]).to(torch.float8_e4m3fn))


def test_weights_that_are_spoilt_from_the_beginning_are_refused(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MASKED)
    spec = TrainSpec(source=f"{tmp_path}/net.py:spoilt", data="linear", threads=1)
    with pytest.raises(ExplorerError, match="weight holds NaN or infinity before the first step: start from other weights"):
        run(spec, QuietReporter(tmp_path))


@pytest.mark.parametrize("bad", [7, 8])
def test_the_batches_of_a_step_that_did_not_end_are_taken_again(tmp_path: Path, bad: int) -> None:
    """Two batches a step: the NaN comes with the first or the second of the fourth."""
    (tmp_path / "net.py").write_text(SPOILT.replace(f"self.calls == {BAD_STEP} else y", f"self.calls == {bad} else y"))
    spec = TrainSpec(source=f"{tmp_path}/net.py:Loss", data="linear", accumulate_batches=2, threads=1)
    with pytest.raises(ExplorerError, match=f"NaN in the loss at step 4, epoch 1, batch {bad}"):
        run(spec, QuietReporter(tmp_path))
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["position"] == [3, 0, 6]


def test_spoilt_buffers_make_no_checkpoint(tmp_path: Path) -> None:
    """Nothing else shows them: no loss depends on them."""
    (tmp_path / "counting.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Linear):\n"
        "  def __init__(self):\n    super().__init__(10, 1)\n    self.register_buffer('seen', torch.zeros(1))\n"
        "  def forward(self, x):\n    self.seen += float('inf') if self.training else 0\n    return super().forward(x)\n"
    )
    spec = TrainSpec(source=f"{tmp_path}/counting.py:Net", data="linear", max_steps=8, threads=1)
    report = Scripted(tmp_path)
    with pytest.raises(ExplorerError, match="NaN or infinity in the weights of seen at step 8"):
        run(spec, report)
    assert report.findings == [("error", "NaN or infinity in the weights of seen")], "said once"
    assert not list(tmp_path.glob("*.pt"))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_data_is_named_when_the_nan_is_in_it(tmp_path: Path, precision: str) -> None:
    stepper = make_stepper(nn.Linear(3, 1), TrainSpec.model_validate({"precision": precision}), QuietReporter(tmp_path))
    batches = list(value_batches(3))
    batches[2].data[0][1, 2] = math.nan
    before = [parameter.detach().clone() for parameter in stepper.learner.parameters]
    with pytest.raises(ExplorerError, match="NaN in the data at step 1, epoch 1, batch 3: mend or leave out the samples"):
        stepper.step(iter(batches), 3)
    assert all(torch.equal(old, new) for old, new in zip(before, stepper.learner.parameters, strict=True))


def test_the_weights_are_untouched_by_a_bad_gradient(tmp_path: Path) -> None:
    module = nn.Linear(3, 1)
    module.bias.register_hook(lambda gradient: gradient * math.inf)  # type: ignore[no-untyped-call]
    stepper = make_stepper(module, TrainSpec(), QuietReporter(tmp_path))
    before = module.weight.detach().clone()
    with pytest.raises(ExplorerError, match="infinity in the gradient of bias at step 1"):
        stepper.step(value_batches(1), 1)
    assert torch.equal(module.weight, before)


def test_large_gradients_are_no_infinite_ones(tmp_path: Path) -> None:
    """Their sum overflows, which is looked into and passed."""
    module = nn.Linear(3, 1)
    module.weight.register_hook(lambda gradient: torch.full_like(gradient, 2e38))  # type: ignore[no-untyped-call]
    stepper = make_stepper(module, TrainSpec(), QuietReporter(tmp_path))
    assert stepper.step(value_batches(1), 1)


class Away(CpuDevice):
    """The CPU as a device whose values are dear to read."""

    kind = "cuda"


def away_stepper(folder: Path, step: Any) -> tuple[Any, Scripted]:
    report = Scripted(folder)
    spec = TrainSpec(log_every_steps=4)
    return make_stepper(nn.Linear(3, 1), spec, report, step=step, accelerator=Away("cpu", "", report)), report


def test_other_devices_are_read_when_a_log_is_due(tmp_path: Path) -> None:
    """A NaN loss at step 2 that leaves the weights alone is found at step 4, and named by its own step."""
    calls = iter(range(1, 10))

    def step(module: nn.Module, data: Any) -> dict[str, torch.Tensor]:
        return {"loss": module(data[0]).sum() * 0 + (math.nan if next(calls) == 2 else 1.0)}

    stepper, report = away_stepper(tmp_path, step)
    batches: Iterator[Batch] = value_batches(6)
    for _ in range(3):
        assert stepper.step(batches, 1)
    with pytest.raises(ExplorerError, match="in the loss at step 2, epoch 1, batch 2"):
        stepper.step(batches, 1)
    assert stepper.position.step == 3
    assert len(report.findings) == 1


def test_other_devices_keep_losses_until_they_are_taken(tmp_path: Path) -> None:
    stepper, _ = away_stepper(tmp_path, None)
    batches = value_batches(3)
    for _ in range(3):
        stepper.step(batches, 1)
    assert all(isinstance(loss, torch.Tensor) for loss in stepper.losses)
    assert [math.isfinite(loss) for loss in stepper.take_losses()] == [True] * 3
    assert stepper.take_losses() == []


def test_floating_tensors_of_nested_data() -> None:
    data = {"a": (torch.zeros(2), torch.zeros(2, dtype=torch.int64)), "b": [torch.ones(1)], "c": "text"}
    assert [len(tensor) for tensor in guards.floating(data)] == [2, 1]


def test_float16_that_overflows_every_step_raises_an_alarm(tmp_path: Path) -> None:
    source = tmp_path / "net.py"
    source.write_text(
        "from torch import nn\ndef net():\n  module = nn.Linear(10, 1)\n"
        "  module.weight.register_hook(lambda gradient: gradient * float('inf'))\n  return module\n"
    )
    spec = TrainSpec(source=f"{source}:net", data="linear", precision="float16", epochs=3, threads=1, batch_size=16)
    report = Scripted(tmp_path)
    result = run(spec, report)
    assert [title for title, _ in report.said] == ["gradients overflow float16 again and again"]
    assert result.alarms[0].startswith("gradients overflow float16 again and again at step")
