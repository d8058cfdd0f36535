import math
from pathlib import Path

import pytest
import torch
from torch import nn

from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.reporter import Orders, QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training.best import Best
from explorer.training.determinism import deterministic
from explorer.training.evaluate import evaluate_dataset
from explorer.training.fit_check import check_outputs
from explorer.training.optimizers import make_optimizer
from explorer.training.plan import Plan
from explorer.training.position import Position
from explorer.training.schedules import Rate, scheduled


def rates(schedule: str, steps: int = 100, **options: float) -> list[float]:
    spec = TrainSpec.model_validate({"learning_rate": 1.0, "schedule": schedule, **options})
    return [scheduled(spec, step, steps) for step in range(steps)]


def test_cosine_rises_then_falls_to_zero() -> None:
    found = rates("cosine")
    assert found[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert found[52] == pytest.approx(0.5, abs=0.01)
    assert found[99] < 0.001


def test_linear_rises_then_falls_in_a_line() -> None:
    found = rates("linear", warmup_share=0.2)
    assert found[19] == found[20] == 1.0
    assert found[60] == pytest.approx(0.5)
    assert found[99] == pytest.approx(1 / 80)
    assert rates("linear", warmup_share=0)[0] == 1.0


def test_step_takes_a_tenth_twice() -> None:
    found = rates("step", 90, warmup_share=0)
    assert found[:30] == [1.0] * 30
    assert found[30:60] == pytest.approx([0.1] * 30)
    assert found[60:] == pytest.approx([0.01] * 30)


def test_constant_and_plateau_need_no_length() -> None:
    assert rates("constant") == rates("plateau") == [1.0] * 100
    Rate(TrainSpec(schedule="constant"), None)
    with pytest.raises(ExplorerError, match="the cosine schedule needs to know how many steps there are"):
        Rate(TrainSpec(), None)


def test_plateau_halves_after_three_validations_without_progress() -> None:
    rate = Rate(TrainSpec(schedule="plateau", learning_rate=1.0), None)
    for loss in (3.0, 2.0, 2.0, math.nan):
        rate.validated(loss)
    assert rate.at(0) == 1.0
    again = Rate(rate.spec, None)
    again.load_state_dict(rate.state_dict())
    for each in (rate, again):
        each.validated(2.5)
        assert each.at(0) == 0.5
        each.validated(1.0)
        assert each.at(0) == 0.5


def test_an_ordered_rate_holds_now_and_the_schedule_goes_on_from_there() -> None:
    rate = Rate(TrainSpec(learning_rate=1.0, schedule="linear", warmup_share=0), 100)
    assert rate.obey(Orders(learning_rate=0.25), 50)
    assert rate.at(50) == pytest.approx(0.25)
    assert rate.at(75) == pytest.approx(0.125)
    assert rate.obey(Orders(learning_rate_factor=2.0), 75)
    assert rate.at(75) == pytest.approx(0.25)
    assert rate.obey(Orders(learning_rate=1.0, learning_rate_factor=0.5), 75)
    assert rate.at(75) == pytest.approx(0.5)
    assert not rate.obey(Orders(stop=True), 76)


def test_sparse_gradients_are_refused_by_their_layer() -> None:
    module = nn.Sequential(nn.Embedding(3, 2, sparse=True), nn.Linear(2, 1))
    with pytest.raises(ExplorerError, match=r"0 \(Embedding\) has sparse gradients.*: build it with sparse=False"):
        make_optimizer(module, TrainSpec(optimizer="sgd"))


def test_a_sparse_layer_that_does_not_learn_and_a_part_of_that_name_are_no_matter() -> None:
    module = nn.ModuleDict({"sparse": nn.Linear(2, 1), "frozen": nn.Embedding(3, 2, sparse=True).requires_grad_(False)})
    assert len(make_optimizer(module, TrainSpec()).param_groups[0]["params"]) == 2


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd", "rmsprop"])
def test_optimizers_are_what_they_are_called(name: str) -> None:
    module = nn.Linear(2, 1)
    module.bias.requires_grad_(False)
    spec = TrainSpec.model_validate({"optimizer": name, "weight_decay": 0.125, "momentum": 0.5})
    optimizer = make_optimizer(module, spec)
    assert type(optimizer).__name__.lower() == name
    assert [len(group["params"]) for group in optimizer.param_groups] == [1]
    assert optimizer.param_groups[0]["weight_decay"] == 0.125
    assert optimizer.param_groups[0].get("momentum", 0.5) == 0.5
    module.weight.requires_grad_(False)
    with pytest.raises(ExplorerError, match="no parameters that train"):
        make_optimizer(module, spec)


def test_the_plan_counts_steps_batches_and_validations() -> None:
    plan = Plan(TrainSpec(epochs=3, accumulate_batches=4), 10, 1)
    assert (plan.steps_per_epoch, plan.total_steps) == (3, 9)
    assert [plan.count(batch) for batch in (0, 4, 8)] == [4, 4, 2]
    assert (plan.steps_left(Position(4, 1, 4)), plan.validations_left(Position(4, 1, 4))) == (5, 2)
    cut = Plan(TrainSpec(epochs=3, max_steps=15), 10, 1)
    assert (cut.total_steps, cut.validations_left(Position(1, 0, 1))) == (15, 2)
    unknown = Plan(TrainSpec(accumulate_batches=4), None, 1)
    assert (unknown.total_steps, unknown.steps_left(Position()), unknown.count(7)) == (None, None, 4)
    assert Plan(TrainSpec(max_steps=15), None, 1).total_steps == 15
    with pytest.raises(ExplorerError, match="several processes cannot accumulate"):
        Plan(TrainSpec(accumulate_batches=4), None, 2)


def test_the_best_is_never_a_nan_and_gives_its_weights_back() -> None:
    module = nn.Linear(2, 1)
    best = Best(TrainSpec(keep_best=True, early_stopping_epochs=3), can_validate=True)
    for step, loss in enumerate([math.nan, 2.0, 1.0, math.nan, 1.0], 1):
        nn.init.constant_(module.weight, float(step))
        best.validated(step, {"val_loss": loss}, module)
    assert (best.step, best.waited, best.given_up) == (3, 2, False)
    again = Best(best.spec, can_validate=True)
    again.load_state_dict(best.state_dict())
    again.validated(6, {"val_loss": 5.0}, module)
    assert again.given_up
    assert again.give(module)
    assert module.weight.tolist() == [[3.0, 3.0]]
    assert again.metrics == {"val_loss": 1.0}


def test_accuracy_goes_before_loss() -> None:
    best = Best(TrainSpec(), can_validate=True)
    best.validated(1, {"val_loss": 1.0, "val_accuracy": 0.8}, nn.Linear(1, 1))
    best.validated(2, {"val_loss": 0.5, "val_accuracy": 0.7}, nn.Linear(1, 1))
    assert best.step == 1
    assert not best.give(nn.Linear(1, 1)), "no weights are kept unless asked for"


@pytest.mark.parametrize("options", [{"keep_best": True}, {"early_stopping_epochs": 2}, {"schedule": "plateau"}])
def test_what_needs_validation_says_so(options: dict[str, object]) -> None:
    with pytest.raises(ExplorerError, match=f"{next(iter(options))}.* needs validation, and no data is held out"):
        Best(TrainSpec.model_validate(options), can_validate=False)


def test_deterministic_names_the_operator_and_restores_the_settings() -> None:
    pool, unpool = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    with deterministic(True):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.backends.cudnn.deterministic
    with pytest.raises(ExplorerError, match=r"operator max_unpooling\S* has no deterministic form"), deterministic(True):
        unpool(*pool(torch.ones(1, 1, 4)))
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.backends.cudnn.deterministic
    with deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled()


def test_evaluate_restores_the_mode_and_counts_exactly(tmp_path: Path) -> None:
    class Right(nn.Module):
        """Says class 3 for every digit."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.eye(10)[torch.full((len(x),), 3)]

    held_out = load("digits", "test")
    module = Right().train()
    values = evaluate_dataset(module, held_out, QuietReporter(tmp_path))
    assert module.training
    assert values["accuracy"] == pytest.approx(float((held_out.targets == 3).mean()), abs=1e-12)
    assert values["loss"] == pytest.approx(
        float(torch.nn.functional.cross_entropy(module(torch.zeros(359)), torch.from_numpy(held_out.targets)))
    )


def test_values_have_an_absolute_error(tmp_path: Path) -> None:
    class Zero(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.zeros(len(x), 1)

    held_out = load("linear", "test")
    values = evaluate_dataset(Zero(), held_out, QuietReporter(tmp_path))
    assert values == pytest.approx(
        {"loss": float((held_out.targets**2).mean()), "mae": float(abs(held_out.targets).mean())}, rel=1e-5
    )
    check_outputs(Zero(), held_out)
    with pytest.raises(ExplorerError, match=r"gives shape \(2, 1\) for 2 digits samples, not \(2, 10\)"):
        check_outputs(Zero(), load("digits", "test"))
