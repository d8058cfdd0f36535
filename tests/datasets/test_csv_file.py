from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.datasets.dataset import describe
from explorer.datasets.load import load, read
from explorer.errors import ExplorerError
from tests.datasets.files import SPECIES, check_sentence, flowers, write_csv


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
@pytest.mark.parametrize("header", ["", "length,width,species"])
def test_text_classes_are_numbered_and_their_names_kept(tmp_path: Path, name: str, header: str) -> None:
    delimiter = "\t" if name == "a.tsv" else ","
    path = write_csv(tmp_path / name, flowers(), header.replace(",", delimiter), delimiter)
    train, test = load(str(path), "train"), load(str(path), "test")
    assert (train.classes, train.class_names) == (3, SPECIES)
    assert train.inputs.shape == (24, 2)
    assert train.inputs.dtype == np.float32
    assert train.targets.dtype == np.int64
    assert np.bincount(test.targets).tolist() == [2, 2, 2]
    rows = {(row[0], row[2]) for row in flowers()}
    assert all((f"{x[0]:.1f}", SPECIES[y]) in rows for x, y in zip(train.inputs, train.targets, strict=True))


@pytest.mark.parametrize("target", ["kind", "0", "-3"])
def test_the_target_is_a_name_or_a_number(tmp_path: Path, target: str) -> None:
    rows = [[row[2], row[0], row[1]] for row in flowers()]
    path = write_csv(tmp_path / "a.csv", rows, "kind,a,b")
    train = load(f"{path},target={target}", "train")
    assert train.class_names == SPECIES
    assert train.inputs[1].tolist() == pytest.approx([0.1, 1.5])


def test_fractions_are_values_and_few_whole_numbers_are_classes_unless_the_task_is_said(tmp_path: Path) -> None:
    rows = [[str(index), str(index % 4), f"{index / 7:.3f}"] for index in range(40)]
    path = write_csv(tmp_path / "a.csv", rows, "x,grade,price")
    assert load(str(path), "train").classes is None
    assert load(str(path), "train").targets.shape == (32, 1)
    assert load(f"{path},target=grade", "train").classes == 4
    assert load(f"{path},target=grade,task=regression", "train").classes is None
    assert load(f"{path},target=x", "train").classes is None  # 40 different values
    assert load(f"{path},target=x,task=classification", "train").classes == 40
    with pytest.raises(ExplorerError, match="the target holds fractions, so no classes"):
        load(f"{path},task=classification", "train")
    assert describe(read(f"{path},target=grade")) == "32 training and 8 held-out samples of 2 numbers, 4 classes"
    assert describe(read(str(path))) == "32 training and 8 held-out samples of 2 numbers, one value to predict"


def test_class_numbers_that_do_not_start_at_zero_are_numbered_and_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [[str(index), str(3 + index % 3)] for index in range(30)])
    train = load(str(path), "train")
    assert (train.classes, train.class_names) == (3, ("3", "4", "5"))
    assert train.targets.tolist() == [(int(x[0]) % 3) for x in train.inputs]


def test_quotes_blank_lines_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes('\ufeff"x","y, or not"\n\n"1","a"\r\n2,"b"\n\n3,"a"\n4,b\n'.encode())
    train = load(f"{tmp_path}/a.csv,target=1,validation=0", "train")
    assert train.inputs.tolist() == [[1], [2], [3], [4]]
    assert train.targets.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b,y\n1,2,3\n1,x,3\n", r"a\.csv, line 3, column b: 'x' is no number: leave the column out"),
        ("1,2,3\n1,,3\n", r"line 2, column 2: the cell is empty: fill it"),
        ("a,b,y\n1,2,3\n1,NA,3\n", r"line 3, column b: the cell is missing \('NA'\)"),
        ("a,b,y\n1,2,3\n1,3\n", r"line 3: 2 columns, not 3 as before"),
        ("a,b,y\n1,2,3\n1,3,4,5\n", r"line 3: 4 columns, not 3"),
        ("a,b,y\n1,2,3\n\n1,3,\n", r"line 4, column y: the cell is empty"),
        ("a,b,y\n1,2,cat\n1,3,\n", r"the target is missing in 1 rows"),
        ("a,city,y\n1,Rome,cat\n1,Bonn,dog\n", r"column city: 'Rome' is no number: .*only the target may be text"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,y\n", "has no rows of samples"),
        ("a\n1\n", "has one column"),
        ("a,b\0\n", "holds zero bytes"),
        ("a,y\n" + "".join(f"1,t{index}\n" for index in range(40)), "40 different texts in 40 rows, too many for classes"),
    ],
)
def test_a_fault_is_named_by_line_and_column(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ExplorerError, match=sentence):
        read(f"{tmp_path}/a.csv")


def test_a_wrong_target_lists_the_columns_and_wrong_options_say_what_is_right(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", flowers(), "length,width,species")
    for option, sentence in {
        "target=weight": "has no column 'weight': target= is one of length, width, species",
        "target=3": "has no column '3'",
        "task=guess": "there is no task 'guess': task=classification or task=regression",
        "task=regression": "the target is text, such as 'setosa'",
        "validation=1": "is no share from 0 to 0.9",
        "validation=x": "is no share",
        "size=8": "size= has no part in such data",
    }.items():
        with pytest.raises(ExplorerError, match=sentence):
            read(f"{path},{option}")


def test_bytes_that_are_no_text_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    (tmp_path / "b.csv.gz").write_bytes(b"a,b\n1,2\n")
    for name in ("a.csv", "b.csv.gz"):
        with pytest.raises(ExplorerError, match=r"cannot be read as CSV .*save it as UTF-8"):
            read(f"{tmp_path}/{name}")


def test_the_validation_share_is_held_out_and_nought_is_none(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", flowers(60))
    parts = read(f"{path},validation=0.5")
    assert parts.held_out is not None
    assert (len(parts.train), len(parts.held_out)) == (30, 30)
    assert np.bincount(parts.held_out.targets).tolist() == [10, 10, 10]
    assert read(f"{path},validation=0").held_out is None
    with pytest.raises(ExplorerError, match="has no held-out samples"):
        load(f"{path},validation=0", "test")


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", flowers())
    assert read(str(path)).train is read(str(path)).train
    write_csv(path, flowers(60))
    assert len(read(str(path)).train) == 48


CELLS = st.sampled_from(["1", "-2.5", "1e3", "nan", "", "x", '"', '"a', "'", ";", "\t", "#", "1_0", "٣", "inf", " 7 ", "\r"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, max_size=4).map(",".join), max_size=6).map("\n".join) | st.binary(max_size=60).map(str))
def test_any_text_is_samples_or_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "fuzz.csv").write_text(text, newline="")
    try:
        parts = read(f"{tmp_path}/fuzz.csv")
    except ExplorerError as error:
        check_sentence(error)
    else:
        assert len(parts.train) > 0
        assert parts.train.inputs.ndim == 2
        assert np.isfinite(parts.train.inputs).all() or "nan" in text or "inf" in text
