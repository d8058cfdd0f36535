import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from explorer.datasets.dataset import Dataset
from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.batch_plan import BatchPlan
from explorer.training.batches import ArrayBatches, Batch, BatchSource
from explorer.training.data import open_data
from tests.datasets import user_data

FILE = str(Path(user_data.__file__))
KINDS = ["arrays", "squares", "loader(batch_size=3)", "stream", "batches", "two_loaders"]


def same(data: Any) -> Any:
    return data


def opened(name: str, rank: int = 0, size: int = 1, batch_size: int = 4, seed: int = 3) -> BatchSource:
    return open_data(TrainSpec(data=f"{FILE}:{name}", batch_size=batch_size, seed=seed), same, rank=rank, size=size).train


def rows(batches: list[Batch]) -> list[list[float]]:
    return [row for batch in batches for row in batch.data[0].tolist()]


def alike(first: list[Batch], second: list[Batch]) -> bool:
    return [batch.index for batch in first] == [batch.index for batch in second] and all(
        torch.equal(a.data[0], b.data[0]) and torch.equal(a.data[1], b.data[1]) for a, b in zip(first, second, strict=True)
    )


def test_order_depends_on_seed_and_epoch_and_covers_every_sample() -> None:
    batches = ArrayBatches(load("linear", "train"), 32, 0, same)
    first, again, later = (torch.cat([batch.data[0] for batch in batches.epoch(epoch)]) for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    assert torch.equal(first.sum(1).sort().values, torch.from_numpy(load("linear", "train").inputs).sum(1).sort().values)
    assert not torch.equal(
        first, torch.cat([batch.data[0] for batch in ArrayBatches(load("linear", "train"), 32, 1, same).epoch(0)])
    )


@pytest.mark.parametrize("name", KINDS)
def test_skipped_batches_change_nothing_in_those_that_follow(name: str) -> None:
    """Also what a sample's own code draws at random."""
    source = opened(name)
    for epoch in (0, 1):
        whole = list(source.epoch(epoch))
        assert alike(list(opened(name).epoch(epoch)), whole)
        assert len(whole) == source.batches_per_epoch or source.batches_per_epoch is None
        for skip in range(len(whole) + 1):
            assert alike(list(source.epoch(epoch, skip)), whole[skip:])


@pytest.mark.parametrize("name", ["arrays", "squares", "loader", "stream"])
def test_epochs_are_shuffled_by_seed_and_epoch(name: str) -> None:
    first, second = opened(name), opened(name, seed=4)
    assert rows(list(first.epoch(0))) != rows(list(first.epoch(1)))
    assert rows(list(first.epoch(0))) != rows(list(second.epoch(0)))


@pytest.mark.parametrize("name", KINDS)
def test_the_models_random_numbers_are_left_alone(name: str) -> None:
    """Whatever data draws while a training runs, dropout draws what it would have drawn without it."""
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    wanted = [(torch.rand(1).item(), np.random.random(), random.random()) for _ in range(5)]
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    batches = opened(name).epoch(0)
    found = []
    for _ in wanted:
        next(batches, None)
        found.append((torch.rand(1).item(), np.random.random(), random.random()))
    assert found == wanted


@given(st.integers(1, 80), st.integers(1, 12), st.integers(1, 5), st.booleans())
def test_slices_of_all_ranks_make_the_whole_batch(samples: int, batch_size: int, size: int, keep_all: bool) -> None:
    if samples < size:
        with pytest.raises(ExplorerError, match=f"{samples} samples cannot be shared out to {size} processes"):
            BatchPlan(samples, batch_size, 0, size, keep_all)
        return
    plans = [BatchPlan(samples, batch_size, rank, size, keep_all) for rank in range(size)]
    assert len({plan.batches for plan in plans}) == 1
    end = 0
    for index in range(plans[0].batches):
        parts = [plan.slice(index) for plan in plans]
        assert all(part.stop > part.start for part in parts)
        assert [part.start for part in parts] == [end, *(part.stop for part in parts[:-1])]
        assert parts[-1].stop - end == parts[0].whole
        assert parts[0].whole <= batch_size * size or keep_all
        end = parts[-1].stop
    assert end == plans[0].used
    if keep_all:
        assert end == samples
    else:
        assert samples - end < min(samples, batch_size * size)
        assert samples - end < 2 * size


@pytest.mark.parametrize("name", ["arrays", "squares(count=11),validation=0"])
@pytest.mark.parametrize("size", [2, 3])
def test_the_weighted_mean_of_ranks_is_the_mean_of_the_whole_batch(name: str, size: int) -> None:
    ranks = [list(opened(name, rank, size, batch_size=2).epoch(1)) for rank in range(size)]
    whole = list(opened(name, batch_size=2 * size).epoch(1))
    assert len({len(batches) for batches in ranks}) == 1
    for one, *parts in zip(whole, *ranks, strict=False):
        weighted = sum(part.weight * part.data[0][:, 0].mean() for part in parts) / size
        assert weighted == pytest.approx(one.data[0][:, 0].mean())
        assert sum(part.samples for part in parts) == one.samples
        assert torch.equal(torch.cat([part.data[0][:, 0] for part in parts]), one.data[0][:, 0])


def test_a_last_batch_of_one_is_left_out_in_training_and_kept_in_validation() -> None:
    batches = ArrayBatches(load("digits", "train"), 479, 0, same)
    assert [batch.samples for batch in batches.epoch(0)] == [479, 479, 479]
    assert (batches.batches_per_epoch, batches.samples) == (3, 1437)
    kept = ArrayBatches(load("digits", "train"), 479, 0, same, in_order=True)
    assert [batch.samples for batch in kept.epoch(0)] == [479, 479, 479, 1]
    assert [len(batch.data[0]) for batch in opened("squares(count=12)", batch_size=3).epoch(0)] == [
        3,
        3,
        3,
    ]  # 10 and 2 are held out
    assert [batch.samples for batch in opened("stream", batch_size=19).epoch(0)] == [19]


def test_validation_is_in_order_and_whole_on_every_rank() -> None:
    spec = TrainSpec(data="digits,validation=0.5", batch_size=7)
    sources = [open_data(spec, same, rank=rank, size=3).held_out for rank in range(3)]
    epochs = [list(source.epoch(0)) for source in sources if source is not None]
    assert len({len(batches) for batches in epochs}) == 1
    together = torch.cat([batches[index].data[1] for index in range(len(epochs[0])) for batches in epochs])
    assert together.tolist() == load("digits,validation=0.5", "test").targets.tolist()


def test_a_model_that_works_in_place_does_not_change_the_data() -> None:
    batches = ArrayBatches(load("linear", "test"), 32, 0, same, in_order=True)
    before = [batch.data[0].clone() for batch in batches.epoch(0)]
    for batch in [*batches.epoch(0), *ArrayBatches(load("linear", "test"), 32, 0, same).epoch(0)]:
        batch.data[0].zero_()
    batches.first()[0].zero_()
    assert all(torch.equal(batch.data[0], kept) for batch, kept in zip(batches.epoch(0), before, strict=True))


def test_a_data_set_that_the_device_has_no_room_for_stays_beside_it() -> None:
    placed: list[int] = []

    def place(data: Any) -> Any:
        if len(data[0]) > 100:
            raise RuntimeError("CUDA out of memory. Tried to allocate 8 GiB")
        placed.append(len(data[0]))
        return data

    batches = ArrayBatches(load("linear", "train"), 32, 0, place)
    assert alike(list(batches.epoch(0)), list(ArrayBatches(load("linear", "train"), 32, 0, same).epoch(0)))
    assert placed == [32] * 25

    def fail(data: Any) -> Any:
        raise RuntimeError("no such device")

    with pytest.raises(RuntimeError, match="no such device"):
        ArrayBatches(load("linear", "train"), 32, 0, fail)


def test_a_data_set_smaller_than_a_batch_is_one_batch() -> None:
    data = Dataset("a", np.zeros((5, 2), np.float32), np.zeros((5, 1), np.float32), None)
    batches = ArrayBatches(data, 32, 0, same)
    assert (batches.batch_size, batches.batches_per_epoch) == (5, 1)
    one = Dataset("a", data.inputs[:1], data.targets[:1], None)
    assert [batch.samples for batch in ArrayBatches(one, 32, 0, same).epoch(0)] == [1]
