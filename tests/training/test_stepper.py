"""One step: what its batches weigh, how often gradients are looked at."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training.batches import Batch
from explorer.training.check_interval import CheckInterval
from tests.training.making import make_stepper, value_batches


def joined(batches: Iterator[Batch]) -> Batch:
    every = list(batches)
    data = tuple(torch.cat([batch.data[part] for batch in every]) for part in (0, 1))
    return Batch(data, sum(batch.samples for batch in every))


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd", "rmsprop"])
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("last", [0, 3])
def test_accumulated_batches_are_one_batch_of_their_size(tmp_path: Path, optimizer: str, clip: float | None, last: int) -> None:
    """Also when the last is smaller than the others."""
    spec = TrainSpec.model_validate(
        {"optimizer": optimizer, "clip_grad_norm": clip, "batch_size": 4, "learning_rate": 0.01, "schedule": "constant"}
    )
    one = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    many = copy.deepcopy(one)
    first, second = (make_stepper(module, spec, QuietReporter(tmp_path)) for module in (one, many))
    for seed in range(5):
        assert first.step(iter([joined(value_batches(3, last=last, seed=seed))]), 1)
        assert second.step(value_batches(3, last=last, seed=seed), 3)
    torch.testing.assert_close(first.take_losses(), second.take_losses(), atol=1e-6, rtol=0)
    for ours, theirs in zip(one.parameters(), many.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    assert (second.position.step, second.position.batch) == (5, 15)


def test_fewer_batches_than_planned_make_their_own_step(tmp_path: Path) -> None:
    """Data that does not say how long it is ends when it ends."""
    spec = TrainSpec(batch_size=4, learning_rate=0.01, optimizer="sgd")
    one = nn.Linear(3, 1)
    many = copy.deepcopy(one)
    make_stepper(one, spec, QuietReporter(tmp_path)).step(iter([joined(value_batches(2))]), 1)
    stepper = make_stepper(many, spec, QuietReporter(tmp_path))
    assert stepper.step(value_batches(2), 5)
    torch.testing.assert_close(one.weight, many.weight, atol=1e-6, rtol=0)


def test_the_weight_of_a_batch_scales_its_loss(tmp_path: Path) -> None:
    """As in data parallel, where each process has a share of the batch."""
    spec = TrainSpec(batch_size=4, learning_rate=0.01, optimizer="sgd", momentum=0, weight_decay=0, schedule="constant")
    plain = nn.Linear(3, 1)
    heavy = copy.deepcopy(plain)
    before = plain.weight.detach().clone()
    batch = next(value_batches(1))
    first, second = (make_stepper(module, spec, QuietReporter(tmp_path)) for module in (plain, heavy))
    first.step(iter([batch]), 1)
    second.step(iter([Batch(batch.data, batch.samples, 0.5)]), 1)
    torch.testing.assert_close(heavy.weight - before, 0.5 * (plain.weight - before))
    assert second.take_losses()[0] == pytest.approx(0.5 * first.take_losses()[0])


def test_what_the_step_function_gives_besides_is_averaged(tmp_path: Path) -> None:
    def step(module: nn.Module, data: Any) -> dict[str, torch.Tensor]:
        return {"loss": module(data[0]).sum(), "samples": torch.tensor(float(len(data[0])))}

    stepper = make_stepper(nn.Linear(3, 1), TrainSpec(batch_size=4), QuietReporter(tmp_path), step=step)
    stepper.step(value_batches(2, last=2), 2)
    assert float(stepper.others["samples"]) == pytest.approx((4 * 4 + 2 * 2) / 6)
    stepper.step(value_batches(1), 1)
    assert float(stepper.others["samples"]) == 4


def test_clipping_brings_the_norm_down_and_tells_what_it_was(tmp_path: Path) -> None:
    spec = TrainSpec(clip_grad_norm=0.01, optimizer="sgd", batch_size=4)
    stepper = make_stepper(nn.Linear(3, 1), spec, QuietReporter(tmp_path))
    stepper.step(value_batches(1), 1)
    assert stepper.norm is not None
    assert stepper.norm.item() > 0.01
    assert torch.nn.utils.get_total_norm(stepper.learner.gradients()).item() == pytest.approx(0.01, rel=1e-3)


def settled(look_s: float, step_s: float) -> bool:
    interval = CheckInterval(always=False, log_every=20, on_cpu=True, may_rewind=True)
    for _ in range(8):
        assert interval.measuring
        assert interval.due(1)
        interval.add(look_s, step_s)
    assert not interval.measuring
    assert interval.due(9) is not interval.rewinds
    return interval.rewinds


def test_gradients_are_looked_at_before_each_update_where_that_is_cheap() -> None:
    assert not settled(20e-6, 3e-3), "0.7 % of the step"
    assert settled(20e-6, 1e-3), "2 %"


def test_always_looks_and_other_devices_look_when_a_log_is_due() -> None:
    always = CheckInterval(always=True, log_every=20, on_cpu=True, may_rewind=True)
    assert not always.measuring
    assert always.due(7)
    away = CheckInterval(always=False, log_every=20, on_cpu=False, may_rewind=True)
    assert not away.measuring
    assert [step for step in range(1, 61) if away.due(step)] == [20, 40, 60]
    away.log_each(30)
    assert [step for step in range(1, 61) if away.due(step)] == [30, 60]
