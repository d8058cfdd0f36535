from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.datasets.load import read
from explorer.errors import ExplorerError
from tests.datasets.files import check_sentence, numbers

X, Y = numbers(20), np.arange(20) % 4


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [("x", "y"), ("inputs", "targets"), ("X", "Y"), ("X", "y"), ("train_images", "train_labels"), ("x_train", "y_train")],
)
def test_the_usual_names_are_known(tmp_path: Path, inputs: str, targets: str) -> None:
    np.savez(tmp_path / "a.npz", **{inputs: X, targets: Y})  # type: ignore[arg-type]
    parts = read(f"{tmp_path}/a.npz")
    assert parts.held_out is not None
    assert (len(parts.train), len(parts.held_out)) == (16, 4)
    assert parts.train.inputs.dtype == np.float32
    assert parts.train.targets.dtype == np.int64
    assert parts.train.classes == 4
    assert sorted(parts.held_out.targets) == [0, 1, 2, 3]


@pytest.mark.parametrize("held_out", ["test", "val"])
def test_its_own_held_out_part_wins(tmp_path: Path, held_out: str) -> None:
    own = {f"x_{held_out}": X[:3], f"y_{held_out}": np.array([0, 1, 5])}
    np.savez_compressed(tmp_path / "a.npz", x_train=X, y_train=Y, **own)  # type: ignore[arg-type]
    parts = read(f"{tmp_path}/a.npz,validation=0.5")
    assert parts.held_out is not None
    assert (len(parts.train), len(parts.held_out)) == (20, 3)
    assert parts.train.classes == parts.held_out.classes == 6
    assert read(f"{tmp_path}/a.npz,validation=0").held_out is None


def test_validation_goes_before_test(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz",
        train_images=X,
        train_labels=Y,
        test_images=X[:5],
        test_labels=Y[:5],
        val_images=X[:2],
        val_labels=Y[:2],
    )
    parts = read(f"{tmp_path}/a.npz")
    assert parts.held_out is not None
    assert len(parts.held_out) == 2


@pytest.mark.parametrize(
    ("inputs", "targets", "input_dtype", "classes"),
    [
        (X.astype(np.float64), Y.astype(np.float32), np.float32, None),
        (X.astype(np.int32), Y, np.int64, 4),
        (X.astype(np.uint8), Y[:, None].astype(np.uint8), np.float32, 4),
        (X > 5, Y > 1, np.float32, 2),
        (X.astype(np.float16), np.array(["a", "b"] * 10), np.float32, 2),
        (X, np.stack([Y, Y], axis=1) / 3, np.float32, None),
    ],
)
def test_dtypes_become_what_models_take(tmp_path: Path, inputs: Any, targets: Any, input_dtype: Any, classes: int | None) -> None:
    np.savez(tmp_path / "a.npz", x=inputs, y=targets)
    train = read(f"{tmp_path}/a.npz").train
    assert (train.inputs.dtype, train.classes) == (input_dtype, classes)
    assert train.targets.dtype == (np.float32 if classes is None else np.int64)
    assert train.targets.ndim == (2 if classes is None else 1)
    assert train.inputs.flags.writeable
    if inputs.dtype == np.uint8:
        assert train.inputs.max() == pytest.approx(inputs.max() / 255, abs=0.02)


def test_the_task_overrides(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    assert read(f"{tmp_path}/a.npz,task=regression").train.classes is None
    np.savez(tmp_path / "a.npz", x=X, y=Y.astype(float))
    assert read(f"{tmp_path}/a.npz,task=classification").train.classes == 4
    np.savez(tmp_path / "a.npz", x=X, y=Y / 3)
    with pytest.raises(ExplorerError, match="no whole numbers, so no classes"):
        read(f"{tmp_path}/a.npz,task=classification")


def test_text_classes_of_both_parts_have_the_same_numbers(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x_train=X, y_train=np.array(["a", "b"] * 10), x_test=X[:2], y_test=np.array(["b", "b"]))
    parts = read(f"{tmp_path}/a.npz")
    assert parts.held_out is not None
    assert parts.held_out.targets.tolist() == [1, 1]
    np.savez(tmp_path / "a.npz", x_train=X, y_train=np.array(["a", "b"] * 10), x_test=X[:2], y_test=np.array(["b", "c"]))
    with pytest.raises(ExplorerError, match="has the class 'c', which is not among the training samples"):
        read(f"{tmp_path}/a.npz")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"a": X, "b": Y}, "holds a, b: which are the inputs and targets.*name them x and y"),
        ({"x": X, "y": Y[:7]}, "20 inputs and 7 targets"),
        ({"x": X[:0], "y": Y[:0]}, "has no samples"),
        ({"x": np.zeros((4, 0)), "y": Y[:4]}, "hold nothing"),
        ({"x": np.float32(1), "y": np.float32(1)}, "single numbers"),
        ({"x": X.astype(complex), "y": Y}, "the inputs are complex128, not numbers"),
        ({"x": X, "y": np.array([None] * 20)}, "pickled objects, which could run code"),
        (
            {"x_train": X, "y_train": Y, "x_test": X[:, :2], "y_test": Y},
            "training samples are 3 numbers, held-out ones 2 numbers",
        ),
        ({"x_train": X, "y_train": Y, "x_test": X, "y_test": Y / 3}, "classes in one part and values in the other"),
    ],
)
def test_what_cannot_be_trained_on_is_one_sentence(tmp_path: Path, arrays: dict[str, Any], sentence: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ExplorerError, match=sentence):
        read(f"{tmp_path}/a.npz")


def test_data_larger_than_half_of_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    monkeypatch.setattr("explorer.datasets.memory.available_bytes", lambda: 2000)
    with pytest.raises(ExplorerError, match=r"more than half of the .* available: store fewer samples"):
        read(f"{tmp_path}/a.npz")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_samples_or_a_sentence(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "whole.npz"
    if not path.exists():
        np.savez_compressed(path, x=X, y=Y)
    content = bytearray(path.read_bytes())
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)):
        content[place] = value
    (tmp_path / "fuzz.npz").write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        read(f"{tmp_path}/fuzz.npz")
    except ExplorerError as error:
        check_sentence(error)
