import hashlib
from pathlib import Path

import numpy as np
import pytest

from explorer.datasets.load import accuracy, load
from explorer.errors import ExplorerError


def test_digits_split_is_stratified_disjoint_and_scaled() -> None:
    train, test = load("digits", "train"), load("digits", "test")
    assert (len(train), len(test)) == (1438, 359)
    assert train.inputs.shape == (1438, 1, 8, 8)
    assert train.inputs.dtype == np.float32
    assert train.targets.dtype == np.int64
    assert train.classes == 10
    assert (float(train.inputs.min()), float(train.inputs.max())) == (0.0, 1.0)
    shares = np.bincount(test.targets) / (np.bincount(train.targets) + np.bincount(test.targets))
    assert np.all(np.abs(shares - 0.2) < 0.01)
    seen = {image.tobytes() for image in train.inputs}
    assert not any(image.tobytes() in seen for image in test.inputs)


def test_the_split_is_the_same_on_every_machine() -> None:
    digest = hashlib.sha256(load("digits", "test").inputs.tobytes()).hexdigest()
    assert digest.startswith("ba1df66f2044f85a")


def test_linear_is_solved_by_least_squares_to_its_noise() -> None:
    train, test = load("linear", "train"), load("linear", "test")
    assert train.inputs.shape == (800, 10)
    assert test.targets.shape == (200, 1)
    assert train.targets.dtype == np.float32
    assert train.classes is None
    with_bias = np.hstack([train.inputs, np.ones((800, 1), np.float32)])
    solution = np.linalg.lstsq(with_bias, train.targets, rcond=None)[0]
    predicted = np.hstack([test.inputs, np.ones((200, 1), np.float32)]) @ solution
    assert float(np.mean((predicted - test.targets) ** 2)) == pytest.approx(0.01, rel=0.3)


def test_the_digits_are_a_csv_file_too() -> None:
    table, digits = load("samples/digits.csv.gz", "test"), load("digits", "test")
    assert (table.classes, table.inputs.shape) == (10, (359, 64))
    assert table.targets.tolist() == digits.targets.tolist()


def test_the_share_that_is_held_out_can_be_said() -> None:
    assert [len(load("linear,validation=0.3", part)) for part in ("train", "test")] == [700, 300]
    assert len(load("digits,validation=0", "train")) == 1797
    with pytest.raises(ExplorerError, match=r"digits,validation=0 has no held-out samples"):
        load("digits,validation=0", "test")
    with pytest.raises(ExplorerError, match="target= has no part in such data"):
        load("digits,target=3", "test")


def test_what_is_no_data_names_the_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for text in ("cifar", f"{tmp_path}/a.parquet", f"{tmp_path}/missing.csv"):
        with pytest.raises(
            ExplorerError, match=r"digits, linear, a \.npz or \.csv file, a folder of images by class, or file\.py"
        ):
            load(text, "train")


def test_accuracy_counts_rows_whose_largest_logit_is_right() -> None:
    assert accuracy([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]], [1, 0, 0, 1]) == 0.75


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(ExplorerError, match="one of digits, linear"):
        load("cifar", "train")
