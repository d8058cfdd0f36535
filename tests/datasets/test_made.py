import random
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.datasets.dataset import Dataset
from explorer.datasets.load import load, read
from explorer.datasets.made import is_factory, kind_of, made
from explorer.errors import ExplorerError
from explorer.schemas.data_source import parse_data_source
from tests.datasets import user_data

FILE = str(Path(user_data.__file__))


def made_by(name: str, rank: int = 0, size: int = 1) -> tuple[str, str | None, bool]:
    given = made(parse_data_source(f"{FILE}:{name}"), rank, size)
    return kind_of(given.train), None if given.held_out is None else kind_of(given.held_out), given.shared_out


@pytest.mark.parametrize(
    ("name", "train", "held_out"),
    [
        ("arrays", "arrays", "arrays"),
        ("tensors", "arrays", "arrays"),
        ("two_pairs", "arrays", "arrays"),
        ("named", "arrays", "arrays"),
        ("randomly_split", "arrays", "arrays"),
        ("squares", "map", "map"),
        ("two_squares", "map", "map"),
        ("rows", "map", "map"),
        ("loader", "batches", None),
        ("two_loaders", "batches", "batches"),
        ("stream", "samples", None),
        ("batches", "batches", None),
        ("tensors,validation=0", "arrays", None),
        ("two_loaders,validation=0", "batches", None),
    ],
)
def test_each_kind_is_known(name: str, train: str, held_out: str | None) -> None:
    assert made_by(name) == (train, held_out, False)


def test_a_factory_may_ask_for_rank_and_size() -> None:
    given = made(parse_data_source(f"{FILE}:own_share"), 1, 2)
    assert given.shared_out
    assert isinstance(given.train, Dataset)
    assert len(given.train) + len(given.held_out) == 10


def test_a_package_is_a_factory_and_a_file_with_a_colon_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_factory(parse_data_source("tests.datasets.user_data:arrays"))
    assert len(load("tests.datasets.user_data:arrays", "train")) == 16
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b").mkdir()
    assert not is_factory(parse_data_source("a:b"))


def test_the_held_out_rows_of_a_random_split_are_the_same_on_every_call_and_nobody_elses_numbers_change() -> None:
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    first, again = read(f"{FILE}:randomly_split"), read(f"{FILE}:randomly_split")
    assert first.held_out is not None
    assert again.held_out is not None
    assert np.array_equal(first.held_out.inputs, again.held_out.inputs)
    torch.rand(3)
    torch.set_rng_state(states[0])
    read(f"{FILE}:loader")
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert np.random.get_state()[1].tolist() == states[2]  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "samples", "classes", "names"),
    [
        ("arrays", 16, 4, ()),
        ("two_pairs", 20, 4, ()),
        ("squares", 8, 2, ("even", "odd")),
        ("loader", 10, 2, ("even", "odd")),
        ("stream", 20, 4, ()),
        ("batches", 20, 4, ()),
        ("values", 16, None, ()),
        ("tensors(count=10)", 8, 4, ()),
    ],
)
def test_some_samples_are_in_memory_for_calibration(name: str, samples: int, classes: int | None, names: tuple[str, ...]) -> None:
    train = load(f"{FILE}:{name}", "train")
    assert (len(train), train.classes, train.class_names) == (samples, classes, names)
    assert train.targets.dtype == (np.float32 if classes is None else np.int64)


def test_no_more_samples_are_taken_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.datasets.sampling.MOST_SAMPLES", 6)
    for name in ("squares(count=50)", "loader", "stream", "batches"):
        assert len(load(f"{FILE}:{name}", "train")) == 6
    spread = load(f"{FILE}:squares(count=50),validation=0", "train").inputs[:, 0].tolist()
    assert (spread[0], spread[-1]) == (0, 49)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("once", "the data is a list_iterator, which can be gone through only once: give a list"),
        ("number", "the data is a int: give a torch Dataset, a DataLoader"),
        ("one_tensor", "gave one Tensor: give a pair of inputs and targets"),
        ("misnamed", "gave a dict of train, test: its keys are train and validation"),
        ("broken", r"broken failed at .*user_data\.py:\d+: FileNotFoundError: photos are gone"),
        ("nothing", "gives no samples"),
        ("uneven", r"gives samples of shapes \(2,\) and \(3,\): give all the same shape"),
        ("rows", "gives a dict, not pairs of inputs and targets: name other data"),
        ("squares(fault=3)", r"the data of .* failed at .*user_data\.py:\d+: KeyError: 'no such picture'"),
        ("missing", "has no factory missing"),
        ("squares,task=regression", "task= has no part in a Squares"),
        ("loader,validation=0.5", r"a DataLoader cannot be split: let the factory give \(train, validation\)"),
        ("arrays,size=3", "size= has no part in such data"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ExplorerError, match=sentence):
        load(f"{FILE}:{name}", "train")
