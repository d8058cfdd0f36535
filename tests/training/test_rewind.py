"""Where looking at each gradient is too dear, a NaN is undone: the weights are those before it."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from explorer.errors import Cancelled, ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training import rewind
from explorer.training.data import open_data
from explorer.training.fit import fit
from tests.training.making import make_stepper, value_batches
from tests.training.reporters import Scripted, repeatable

# 25 batches make an epoch of the linear data, and the first 8 steps are looked at anyhow.
EPOCH = 25


@pytest.fixture(autouse=True)
def every_look_is_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.check_interval.EVERY_STEP_SHARE", 0.0)


def spec_of(**options: Any) -> TrainSpec:
    values = {"data": "linear", "epochs": 4, "threads": 1, "time_every_steps": 0, "batch_size": 32}
    return TrainSpec.model_validate(values | options)


class Net(nn.Module):
    """With all that a step may change besides weights: running statistics, and the generator that dropout draws from."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.hidden = nn.Linear(10, 16)
        self.norm = nn.BatchNorm1d(16)
        self.layer = nn.Linear(16, 1)
        self.unused = nn.Parameter(torch.zeros(3))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += self.training
        hidden = nn.functional.dropout(self.norm(self.hidden(x)).relu(), 0.2, self.training)
        given: torch.Tensor = self.layer(hidden)
        return given + torch.where(torch.tensor(False), self.unused, 0.0).sum()


def spoilt_at(step: int, value: float = math.nan) -> Net:
    """Its gradient is bad at one step, and not when that is made again: it counts calls."""
    net = Net()
    net.layer.weight.register_hook(  # type: ignore[no-untyped-call]
        lambda gradient: torch.full_like(gradient, value) if net.calls == step else gradient
    )
    return net


def inputs_of(step: int) -> torch.Tensor:
    """The inputs of a step in the first epoch."""
    batches = list(open_data(spec_of(), lambda data: data).train.epoch(0))
    inputs: torch.Tensor = batches[step - 1].data[0]
    return inputs


def spoilt_by_its_batch(value: float) -> Net:
    """The gradient of a weight that no loss depends on is bad for the batch of step 15, also when that is made again."""
    net, seen, guilty = Net(), [torch.zeros(0)], inputs_of(15)
    net.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    net.unused.register_hook(  # type: ignore[no-untyped-call]
        lambda gradient: torch.full_like(gradient, value) if torch.equal(seen[-1], guilty) else gradient
    )
    return net


def with_a_late_weight() -> Net:
    """Bad at step 15; a weight takes part at step 12 only, so its optimizer state is younger than the copy."""
    net, only = spoilt_at(15), inputs_of(12)
    net.late = nn.Parameter(torch.ones(1))
    net.register_forward_hook(lambda module, inputs, given: given * net.late if torch.equal(inputs[0], only) else given)
    return net


def stopped(net: nn.Module, spec: TrainSpec, folder: Path) -> tuple[str, list[torch.Tensor], Scripted]:
    """What a training that meets a NaN says, and its weights."""
    folder.mkdir()
    report = Scripted(folder)
    with pytest.raises(ExplorerError) as caught:
        fit(net, spec, report)
    assert report.findings == [("error", str(caught.value).split(" at step")[0])]
    return str(caught.value), [parameter.detach() for parameter in net.parameters()], report


def same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "rmsprop"])
@pytest.mark.parametrize("step", [3, 9, 24, EPOCH, EPOCH + 1, 47, 2 * EPOCH, 71, 4 * EPOCH])
def test_the_weights_are_as_if_every_gradient_had_been_looked_at(tmp_path: Path, optimizer: str, step: int) -> None:
    """In the first steps, within an epoch, at its ends, before a checkpoint and at the last step of all."""
    looked, weights, _ = stopped(
        spoilt_at(step), spec_of(optimizer=optimizer, checkpoint_every_steps=47, check_gradients="always"), tmp_path / "always"
    )
    undone, put_back, report = stopped(
        spoilt_at(step), spec_of(optimizer=optimizer, checkpoint_every_steps=47), tmp_path / "auto"
    )
    epoch, batch = divmod(step - 1, EPOCH)
    assert looked == undone
    assert undone.startswith(f"NaN in the gradient of layer.weight at step {step}, epoch {epoch + 1}, batch {batch + 1}")
    assert same(weights, put_back)
    assert not any("made again" in line for line in report.messages)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinity_too(tmp_path: Path, value: float) -> None:
    _, weights, _ = stopped(spoilt_at(40, value), spec_of(check_gradients="always"), tmp_path / "always")
    undone, put_back, _ = stopped(spoilt_at(40, value), spec_of(), tmp_path / "auto")
    assert "in the gradient of layer.weight at step 40, epoch 2, batch 15" in undone
    assert same(weights, put_back)


def test_a_weight_that_no_loss_shows_is_found_and_its_step_named(tmp_path: Path) -> None:
    """The NaN is seen only when a copy is due or an epoch ends; the steps made again tell where it came from."""
    looked, weights, _ = stopped(spoilt_by_its_batch(math.nan), spec_of(check_gradients="always"), tmp_path / "always")
    undone, put_back, _ = stopped(spoilt_by_its_batch(math.nan), spec_of(), tmp_path / "auto")
    assert looked == undone
    assert undone.startswith("NaN in the gradient of unused at step 15, epoch 1, batch 15")
    assert same(weights, put_back)


def test_a_weight_that_came_later_has_no_state_from_what_was_undone(tmp_path: Path) -> None:
    _, weights, _ = stopped(with_a_late_weight(), spec_of(optimizer="sgd", check_gradients="always"), tmp_path / "always")
    _, put_back, _ = stopped(with_a_late_weight(), spec_of(optimizer="sgd"), tmp_path / "auto")
    assert same(weights, put_back)
    assert float(put_back[-1]) != 1


def test_an_update_that_overflows_is_called_that(tmp_path: Path) -> None:
    """No gradient is infinite, but ten times it is."""
    spec = spec_of(optimizer="sgd", momentum=0.0, weight_decay=0.0, learning_rate=10.0, schedule="constant")
    net = spoilt_by_its_batch(1e38)
    for parameter in net.parameters():
        parameter.requires_grad_(parameter is net.unused)
    text, weights, _ = stopped(net, spec, tmp_path / "run")
    assert text.startswith("infinity in the update of unused at step 15, epoch 1, batch 15")
    assert all(bool(torch.isfinite(weight).all()) for weight in weights)


@pytest.mark.parametrize("keep_checkpoints", [True, False])
def test_the_last_step_is_seen_without_checkpoint_and_validation(tmp_path: Path, keep_checkpoints: bool) -> None:
    net = spoilt_at(20)
    with pytest.raises(ExplorerError, match=r"NaN in the gradient of layer\.weight at step 20"):
        fit(net, spec_of(max_steps=20, data="linear,validation=0"), Scripted(tmp_path), checkpoints=keep_checkpoints)
    assert all(bool(torch.isfinite(parameter).all()) for parameter in net.parameters())
    assert (tmp_path / "checkpoint.pt").exists() == keep_checkpoints


def test_steps_that_give_other_losses_when_made_again_are_left_out(tmp_path: Path) -> None:
    """A model with a memory of its own: the weights are then those of the copy, which are finite."""
    net = spoilt_at(40)
    net.register_forward_hook(lambda module, inputs, output: output + 0.001 * net.calls)
    text, weights, report = stopped(net, spec_of(), tmp_path / "run")
    assert "NaN in the gradient of layer.weight at step 40, epoch 2, batch 15" in text
    assert any("gave other losses when made again, so the weights are those of step" in line for line in report.messages)
    assert all(bool(torch.isfinite(weight).all()) for weight in weights)


@pytest.mark.parametrize("step", [12, EPOCH, EPOCH + 1, 41, 4 * EPOCH])
def test_the_state_before_is_kept_and_goes_on_as_if_nothing_had_been(tmp_path: Path, step: int) -> None:
    """Weights and history are those of a training that met no NaN, also where some of what was undone had been said."""
    whole, broken, resumed = Scripted(tmp_path / "whole"), Scripted(tmp_path / "broken"), Scripted(tmp_path / "broken")
    for report in (whole, broken):
        report.folder.mkdir()
    healthy, after = Net(), Net()
    fit(healthy, spec_of(), whole)
    with pytest.raises(ExplorerError, match=f"at step {step}"):
        fit(spoilt_at(step), spec_of(), broken)
    assert max(broken.column("loss")) == step - 1
    assert broken.steps_done[-1][0] == step - 1
    assert str(broken.folder / "checkpoint.pt") in broken.messages[-1]
    fit(after, spec_of(), resumed)
    assert f"resumed from the checkpoint at step {step - 1}" in resumed.messages
    assert same(list(healthy.state_dict().values()), list(after.state_dict().values()))
    assert repeatable(broken, resumed) == repeatable(whole)


def test_what_was_said_of_steps_that_were_undone_is_said_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No loss shows this NaN, so the log is ahead of the state that is kept."""
    monkeypatch.setattr("explorer.training.loop.LEAST_INTERVAL_S", 0.0)
    broken, resumed = Scripted(tmp_path), Scripted(tmp_path)
    with pytest.raises(ExplorerError, match="NaN in the gradient of unused at step 15"):
        fit(spoilt_by_its_batch(math.nan), spec_of(log_every_steps=1), broken)
    assert max(broken.column("loss")) > 15
    fit(Net(), spec_of(log_every_steps=1), resumed)
    assert min(resumed.column("loss")) == 15


def test_undoing_leaves_no_trace_in_a_healthy_run(tmp_path: Path) -> None:
    runs = []
    for checks in ("always", "auto"):
        net, report = Net(), Scripted(tmp_path)
        fit(net, spec_of(check_gradients=checks), report, checkpoints=False)
        runs.append((list(net.state_dict().values()), report.column("loss"), report.column("val_loss")))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1:] == runs[1][1:]


def test_a_cancel_while_steps_are_made_again_writes_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history is ahead of the weights then."""
    again, calls = rewind.Rewind._again, iter(range(1, 99))

    def cancelled(self: rewind.Rewind, done: rewind.Done) -> str:
        if next(calls) == 3:
            raise Cancelled
        return again(self, done)

    monkeypatch.setattr(rewind.Rewind, "_again", cancelled)
    with pytest.raises(Cancelled):
        fit(spoilt_at(EPOCH), spec_of(), Scripted(tmp_path))
    assert next(calls) == 4
    assert not list(tmp_path.glob("*.pt"))


@pytest.mark.parametrize("limit", ["MOST_COPIED_BYTES", "MOST_KEPT_BYTES"])
def test_what_takes_too_much_memory_is_looked_at_instead(tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewind, limit, 10)
    stepper = make_stepper(nn.Linear(3, 1), TrainSpec(schedule="constant"), Scripted(tmp_path), repeats=True)
    for _ in range(40):
        stepper.step(value_batches(1), 1)
    assert stepper.rewind is None
    assert stepper.checks.due(41)


def test_a_copy_is_made_as_often_as_that_is_cheap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 256 steps are kept, and at least 8 are made between two copies."""
    for share, expected in ((1e-9, rewind.MOST_STEPS), (1e9, rewind.LEAST_STEPS)):
        monkeypatch.setattr(rewind, "COPY_SHARE", share)
        stepper = make_stepper(nn.Linear(3, 1), TrainSpec(schedule="constant"), Scripted(tmp_path), repeats=True)
        most = 0
        for _ in range(600):
            stepper.step(value_batches(1), 1)
            most = max(most, len(stepper.rewind.done) if stepper.rewind else 0)
        assert most == expected


def test_one_copy_serves_until_steps_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that finds no batch, as at the end of an epoch, makes none; a look at the weights voids it."""
    stepper = make_stepper(nn.Linear(3, 1), TrainSpec(schedule="constant"), Scripted(tmp_path), repeats=True)
    for _ in range(9):
        stepper.step(value_batches(1), 1)
    assert stepper.rewind is not None
    copies: list[int] = []
    copy = stepper.rewind._copy

    def counted() -> bool:
        copies.append(stepper.position.step)
        return copy()

    monkeypatch.setattr(stepper.rewind, "_copy", counted)
    stepper.settle()
    for _ in range(3):
        assert stepper.steps(iter([]), 5, math.inf, []) == 0
    stepper.steps(value_batches(2), 5, math.inf, [])
    assert copies == [9]
    stepper.settle()
    stepper.steps(value_batches(1), 5, math.inf, [])
    assert copies == [9, 11]


WITHOUT: dict[str, Callable[[], dict[str, Any]]] = {
    "clipping reads the norm": lambda: {"spec": TrainSpec(clip_grad_norm=1.0)},
    "several batches a step": lambda: {"spec": TrainSpec(accumulate_batches=2)},
    "bfloat16": lambda: {"spec": TrainSpec(precision="bfloat16")},
    "always": lambda: {"spec": TrainSpec(check_gradients="always")},
    "an own step": lambda: {"spec": TrainSpec(), "step": lambda module, data: {"loss": module(data[0]).square().mean()}},
    "data that draws": lambda: {"spec": TrainSpec(), "repeats": False},
}


@pytest.mark.parametrize("why", WITHOUT)
def test_other_steps_are_looked_at_each_time(tmp_path: Path, why: str) -> None:
    parts = {"repeats": True} | WITHOUT[why]()
    stepper = make_stepper(nn.Linear(3, 1), report=Scripted(tmp_path), **parts)
    for _ in range(10):
        stepper.step(value_batches(2), parts["spec"].accumulate_batches)
    assert stepper.rewind is None
    assert all(stepper.checks.due(step) for step in range(11, 20))
