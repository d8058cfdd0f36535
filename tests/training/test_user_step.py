from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.losses import loss_of
from explorer.training.user_step import step_function

STEPS = """
import torch
from torch.nn import functional as F

def good(module, batch):
    inputs, targets = batch
    loss = F.mse_loss(module(inputs), targets)
    return {"loss": loss, "rmse": loss.sqrt(), "answer": 42, "one": loss.reshape(1)}

def plain(module, batch):
    return module(batch[0]).mean(0)

def raises(module, batch):
    return batch["pixels"]

def number(module, batch): return 0.5
def nothing(module, batch): return None
def lossless(module, batch): return {"accuracy": module(batch[0]).mean()}
def many(module, batch): return module(batch[0])
def detached(module, batch): return module(batch[0]).mean().detach()
def whole(module, batch): return torch.tensor(3)
def words(module, batch): return {"loss": module(batch[0]).mean(), "note": "fine"}
"""
BATCH = torch.ones(4, 3), torch.zeros(4, 1)


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "steps.py").write_text(STEPS)
    return str(tmp_path / "steps.py")


def test_supervised_steps_take_the_loss_that_the_targets_ask_for() -> None:
    module, inputs = nn.Linear(3, 4), torch.randn(6, 3)
    labels = torch.arange(6) % 4
    plain = step_function(TrainSpec(label_smoothing=0.0), 4)(module, (inputs, labels))
    assert set(plain) == {"loss"}
    assert torch.equal(plain["loss"], F.cross_entropy(module(inputs), labels))
    smooth = step_function(TrainSpec(label_smoothing=0.1), 4)(module, [inputs, labels])
    assert torch.equal(smooth["loss"], F.cross_entropy(module(inputs), labels, label_smoothing=0.1))
    values = torch.randn(6, 4)
    assert torch.equal(step_function(TrainSpec(), None)(module, (inputs, values))["loss"], F.mse_loss(module(inputs), values))


def test_values_are_compared_with_outputs_one_by_one_whatever_their_last_dimension() -> None:
    outputs, targets = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([[1.0], [2.0], [3.0]])
    assert loss_of(outputs, targets).item() == pytest.approx(1 / 3)


def test_a_label_without_its_output_is_a_sentence() -> None:
    with pytest.raises(
        ExplorerError, match=r"the largest label of the data is 10, the model has 10 outputs \(sample 2 of its batch\)"
    ):
        loss_of(torch.zeros(4, 10), torch.tensor([0, 1, 10, 3]))
    with pytest.raises(ExplorerError, match=r"label -1 of the data is negative \(sample 0 of its batch\): number classes from 0"):
        loss_of(torch.zeros(2, 10), torch.tensor([-1, 1]))


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        ({"pixels": 1, "label": 2}, "a batch of the data is a dict of pixels, label, not a pair .* your own step with --step"),
        (torch.zeros(3), "is a Tensor, not a pair"),
        ((1, 2, 3), "is 3 values, not a pair"),
    ],
)
def test_a_batch_that_is_no_pair_wants_an_own_step(batch: object, sentence: str) -> None:
    with pytest.raises(ExplorerError, match=sentence):
        step_function(TrainSpec(), 2)(nn.Linear(3, 2), batch)


def test_the_users_step_gives_a_loss_with_its_gradient_and_metrics_without(file: str) -> None:
    module = nn.Linear(3, 1)
    values = step_function(TrainSpec(step=f"{file}:good"), None)(module, BATCH)
    assert set(values) == {"loss", "rmse", "answer", "one"}
    assert all(value.shape == () for value in values.values())
    assert values["answer"].item() == 42
    assert [name for name, value in values.items() if value.requires_grad] == ["loss"]
    assert step_function(TrainSpec(step=f"{file}:plain"), None)(module, BATCH)["loss"].shape == ()
    with torch.no_grad():
        assert not step_function(TrainSpec(step=f"{file}:plain"), None)(module, BATCH)["loss"].requires_grad


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("raises", r"the step .*steps\.py:raises failed at .*steps\.py:14: TypeError"),
        ("number", r"the step at .*steps\.py:16 gives float as loss: return the loss, a tensor of one value"),
        ("nothing", r"the step at .*steps\.py:17 gives NoneType as loss"),
        ("lossless", r'steps\.py:18 gives accuracy without "loss"'),
        ("many", r"steps\.py:19 gives \(4, 1\) values as loss, not one"),
        ("detached", r"steps\.py:20 gives a loss without a gradient: compute it from the module's output"),
        ("whole", r"steps\.py:21 gives a loss of torch\.int64"),
        ("words", r"steps\.py:22 gives str as note"),
    ],
)
def test_what_is_wrong_with_a_step_is_told_with_its_own_line(file: str, name: str, sentence: str) -> None:
    step = step_function(TrainSpec(step=f"{file}:{name}"), None)
    with pytest.raises(ExplorerError, match=sentence):
        step(nn.Linear(3, 1), BATCH)


def test_a_step_that_is_not_there_or_is_asked_too_much_is_refused(file: str) -> None:
    for spec, sentence in (
        (TrainSpec(step=f"{file}:missing"), "has no factory missing|has no missing"),
        (TrainSpec(step=f"{file}:good(3)"), r"is called with a batch, not with these arguments: give .*steps\.py:good"),
        (TrainSpec(step=f"{file}:good", label_smoothing=0.2), "label_smoothing has no part in the step"),
    ):
        with pytest.raises(ExplorerError, match=sentence):
            step_function(spec, None)
