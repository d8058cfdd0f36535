from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.data import TrainingData, held_out_batch_size, open_data
from explorer.training.nested import count_of, narrowed
from explorer.training.user_batches import LoaderBatches
from tests.datasets import user_data
from tests.datasets.files import flowers, write_csv, write_images

FILE = str(Path(user_data.__file__))


def same(data: Any) -> Any:
    return data


def opened(data: str, **more: int) -> TrainingData:
    return open_data(TrainSpec(data=data, batch_size=4), same, **more)


@pytest.mark.parametrize(
    ("name", "description", "classes"),
    [
        ("digits", "1,438 training and 359 held-out samples of 1 x 8 x 8, 10 classes", 10),
        ("linear,validation=0", "1,000 training and no held-out samples of 10 numbers, one value to predict", None),
        (f"{FILE}:arrays", "16 training and 4 held-out samples of 3 numbers, 4 classes", 4),
        (f"{FILE}:squares", "8 training and 2 held-out samples of 2 numbers, 2 classes", 2),
        (f"{FILE}:two_loaders", "10 training and 6 held-out samples of 2 numbers, 2 classes", 2),
        (f"{FILE}:stream", "an unknown number of training and no held-out samples of 3 numbers, classes", 3),
        (f"{FILE}:rows", "10 training and 2 held-out samples of 3 numbers, values to predict", None),
    ],
)
def test_the_data_is_described_in_a_line(name: str, description: str, classes: int | None) -> None:
    data = opened(name)
    assert (data.description, data.classes) == (description, classes)
    assert data.train.classes == classes


def test_files_are_opened_with_what_is_odd_about_them(tmp_path: Path) -> None:
    rows = flowers()
    rows[3][0] = "nan"
    data = opened(str(write_csv(tmp_path / "a.csv", [*rows, ["1", "2", "unique"]])))
    assert [oddity.title for oddity in data.oddities] == [
        "one number of the inputs is NaN or infinite",
        "one class has a single training sample",
    ]
    images = opened(str(write_images(tmp_path / "images")))
    assert next(images.train.epoch(0)).data[0].shape == (4, 3, 4, 6)


def test_training_and_held_out_samples_are_those_of_load(tmp_path: Path) -> None:
    """So that a model is later quantized and measured with rows that it was not trained on."""
    text = f"{write_csv(tmp_path / 'a.csv', flowers(60), 'length,width,species')},target=species,validation=0.3"
    data = opened(text)
    assert data.held_out is not None
    held_out = torch.cat([batch.data[0] for batch in data.held_out.epoch(0)])
    assert held_out.tolist() == load(text, "test").inputs.tolist()
    seen = {tuple(row) for batch in data.train.epoch(0) for row in batch.data[0].tolist()}
    assert not seen & {tuple(row) for row in held_out.tolist()}


@pytest.mark.parametrize("name", ["loader", "stream", "batches", "two_loaders"])
def test_loaders_are_not_shared_out_to_processes_that_would_read_the_same(name: str) -> None:
    with pytest.raises(
        ExplorerError, match="every one of 2 processes would go through whole: let the factory take rank and size"
    ):
        opened(f"{FILE}:{name}", rank=0, size=2)


def test_a_loader_with_a_distributed_sampler_or_a_factory_that_knows_the_rank_is_taken() -> None:
    source = opened(f"{FILE}:distributed,validation=0", rank=0, size=2).train
    assert source.batches_per_epoch == 3
    orders = [[x for batch in source.epoch(epoch) for x in batch.data[0][:, 0].tolist()] for epoch in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]  # the sampler was told the epoch
    seen = [
        {
            x
            for batch in opened(f"{FILE}:own_share,validation=0", rank=rank, size=2).train.epoch(0)
            for x in batch.data[0][:, 0].tolist()
        }
        for rank in (0, 1)
    ]
    assert len(seen[0]) == len(seen[1]) == 10
    assert not seen[0] & seen[1]


@pytest.mark.parametrize("name", ["squares", "loader", "stream", "two_loaders", "arrays"])
def test_a_trial_run_takes_a_few_samples_and_changes_nothing(name: str) -> None:
    plain, tried = opened(f"{FILE}:{name}").train, opened(f"{FILE}:{name}").train
    inputs, targets = tried.first(2)
    assert (len(inputs), len(targets)) == (2, 2)
    assert [batch.data[0].tolist() for batch in tried.epoch(0)] == [batch.data[0].tolist() for batch in plain.epoch(0)]


def test_workers_of_a_loader_repeat_themselves() -> None:
    source = opened(f"{FILE}:loader(workers=2),validation=0").train
    first, again, skipped = list(source.epoch(1)), list(source.epoch(1)), list(source.epoch(1, skip=2))
    assert [batch.data[0].tolist() for batch in first] == [batch.data[0].tolist() for batch in again]
    assert [batch.data[0].tolist() for batch in first[2:]] == [batch.data[0].tolist() for batch in skipped]


def test_workers_that_cannot_import_the_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.get_start_method", lambda: "spawn")
    with pytest.raises(ExplorerError, match=r"has workers, which cannot import the file: set num_workers=0"):
        opened(f"{FILE}:loader(workers=2)")
    opened("tests.datasets.user_data:batches")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("squares(fault=5),validation=0", r"sample 5 of .* failed at .*user_data\.py:\d+: KeyError: 'no such picture'"),
        ("nothing", "gives no batches"),
        ("squares(count=0),validation=0", "gives a data set without samples"),
    ],
)
def test_data_that_fails_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ExplorerError, match=sentence):
        for _ in opened(f"{FILE}:{name}").train.epoch(0):
            pass


def test_a_loader_that_fails_later_names_the_users_line() -> None:
    class Failing:
        def __iter__(self) -> Iterator[Any]:
            yield torch.zeros(4, 2), torch.zeros(4, dtype=torch.int64)
            raise OSError("disk is gone")

    batches = LoaderBatches(Failing(), "data.py:make", 4, 0, same).epoch(0)
    next(batches)
    with pytest.raises(ExplorerError, match=r"the data of data\.py:make failed at .*test_data\.py:\d+: OSError: disk is gone"):
        next(batches)


def test_samples_that_do_not_stack_are_one_sentence() -> None:
    class Uneven(user_data.Squares):
        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            return torch.zeros(index + 1), 0

    loader = DataLoader(Uneven(4), batch_size=2)
    with pytest.raises(ExplorerError, match=r"the data of a failed.*RuntimeError"):
        LoaderBatches(loader, "a", 2, 0, same)


def test_any_structure_of_a_users_batch_is_counted_and_cut() -> None:
    batch = {"ids": torch.zeros(5, 3), "extra": (torch.arange(5), "text", torch.zeros(2))}
    assert count_of(batch) == 5
    cut = narrowed(batch, 2)
    assert (len(cut["ids"]), cut["extra"][0].tolist(), cut["extra"][1], len(cut["extra"][2])) == (2, [0, 1], "text", 2)
    assert count_of("text") == 1


def test_batches_of_validation_are_larger_than_those_of_training_unless_samples_are_large() -> None:
    assert held_out_batch_size(32, 64) == 256
    assert held_out_batch_size(512, 64) == 512
    assert held_out_batch_size(8, 3 * 224 * 224) == 8
