"""Comma-separated logs of Lightning, Keras and plain scripts."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runs.logs import FIXTURES, open_run, points_of, read_in_parts, read_points


def _points(tmp_path: Path, text: str) -> dict[str, list[tuple[int, float]]]:
    path = tmp_path / "log.csv"
    path.write_text(text)
    return read_points(path, "csv")


def test_lightning_with_empty_cells() -> None:
    found = read_points(FIXTURES / "lightning" / "csv" / "metrics.csv", "csv")
    assert {name: len(points) for name, points in found.items()} == {"train_loss": 12, "val_loss": 3, "val_mae": 3}
    assert found["train_loss"][:2] == [(1, 4.701462745666504), (3, 1.5350258350372314)]
    assert found["val_mae"][-1] == (23, 0.24154984951019287)


def test_lightning_csv_and_event_file_of_one_run_agree() -> None:
    events = read_points(FIXTURES / "lightning" / "tensorboard", "tfevents")
    events.pop("epoch")
    assert read_points(FIXTURES / "lightning" / "csv" / "metrics.csv", "csv") == events


def test_keras_counts_epochs() -> None:
    told = json.loads((FIXTURES / "keras" / "history.json").read_text())
    found = read_points(FIXTURES / "keras" / "training.csv", "csv")
    assert found == {name: list(enumerate(values)) for name, values in told.items()}


def test_columns_that_come_later_rewrite_the_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,loss\n1,0.5\n2,0.4\n")
    run = open_run(path, "csv")
    assert points_of(run) == {"loss": [(1, 0.5), (2, 0.4)]}
    path.write_text("step,loss,val_loss\n1,0.5,\n2,0.4,\n2,,0.6\n3,0.3,\n")
    assert points_of(run) == {"loss": [(1, 0.5), (2, 0.4), (3, 0.3)], "val_loss": [(2, 0.6)]}
    assert run.history.restarts == 1


def test_nan_is_a_value_and_an_empty_cell_is_none(tmp_path: Path) -> None:
    assert _points(tmp_path, "step,a,b\n1,nan,\n2,,inf\n3,1,-inf\n") == {
        "a": [(1, "nan"), (3, 1.0)],
        "b": [(2, math.inf), (3, -math.inf)],
    }


def test_rows_count_when_no_column_does(tmp_path: Path) -> None:
    assert _points(tmp_path, "loss\n0.5\n0.25\n") == {"loss": [(0, 0.5), (1, 0.25)]}


def test_numbers_without_names(tmp_path: Path) -> None:
    assert _points(tmp_path, "0.5,1\n0.25,2\n") == {"column 1": [(0, 0.5), (1, 0.25)], "column 2": [(0, 1.0), (1, 2.0)]}


def test_a_step_that_begins_again_each_epoch_counts_nothing(tmp_path: Path) -> None:
    rows = "".join(f"{epoch},{step},{epoch * 3 + step}\n" for epoch in range(3) for step in range(3))
    assert _points(tmp_path, "epoch,step,loss\n" + rows) == {"loss": [(row, float(row)) for row in range(9)]}


def test_an_epoch_of_many_rows_counts_nothing_even_when_that_shows_late(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("epoch,loss\n0,1\n1,2\n")
    run = open_run(path, "csv")
    assert points_of(run)["loss"] == [(0, 1.0), (1, 2.0)]
    with path.open("a") as stream:
        stream.write("1,3\n1,4\n")
    assert points_of(run)["loss"] == [(0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)]
    assert run.history.restarts == 1


def test_a_resumed_run_replaces_what_lay_beyond(tmp_path: Path) -> None:
    assert _points(tmp_path, "epoch,step,loss\n0,1,1\n1,2,1\n2,3,1\n1,2,2\n") == {"loss": [(1, 1.0), (2, 2.0)]}


def test_words_part_the_metrics(tmp_path: Path) -> None:
    assert _points(tmp_path, "epoch,split,loss\n0,train,1\n0,val,2\n1,train,3\n1,val,4\n") == {
        "train/loss": [(0, 1.0), (1, 3.0)],
        "val/loss": [(0, 2.0), (1, 4.0)],
    }


def test_one_value_a_row_with_its_tag(tmp_path: Path) -> None:
    assert _points(tmp_path, "step,tag,value\n1,loss,0.5\n1,acc,0.1\n2,loss,0.25\n") == {
        "loss": [(1, 0.5), (2, 0.25)],
        "acc": [(1, 0.1)],
    }


@pytest.mark.parametrize(
    ("header", "cell", "seconds"),
    [
        ("timestamp", "1700000000.5", 1_700_000_000.5),
        ("Wall time", "1700000000", 1_700_000_000.0),
        ("_timestamp", "1700000000500", 1_700_000_000.5),
        ("time", "2023-11-14T22:13:20+00:00", 1_700_000_000.0),
    ],
)
def test_moments_are_known_by_any_name(tmp_path: Path, header: str, cell: str, seconds: float) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"{header},step,loss\n{cell},1,0.5\n")
    run = open_run(path, "csv")
    assert points_of(run) == {"loss": [(1, 0.5)]}
    assert run.history.series["loss"].times.tolist() == [seconds]


def test_a_duration_is_a_metric(tmp_path: Path) -> None:
    assert _points(tmp_path, "step,time,loss\n1,0.35,2\n")["time"] == [(1, 0.35)]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_and_line_ends(tmp_path: Path, delimiter: str) -> None:
    text = "\ufeffstep,loss,acc\r\n1,0.5,\r\n2,,0.25\r\n".replace(",", delimiter)
    assert _points(tmp_path, text) == {"loss": [(1, 0.5)], "acc": [(2, 0.25)]}


def test_quotes_words_and_uneven_rows_are_read_around(tmp_path: Path) -> None:
    text = 'step,note,loss\n1,"a, b",0.5\n2,c\nstep,note,loss\n3,,0.25,9\nrubbish\n'
    assert _points(tmp_path, text)["loss"] == [(1, 0.5), (3, 0.25)]


def test_a_torn_end_at_every_byte_means_not_yet(tmp_path: Path) -> None:
    content = (FIXTURES / "lightning" / "csv" / "metrics.csv").read_bytes()
    path = tmp_path / "metrics.csv"
    for end in range(len(content)):
        path.unlink(missing_ok=True)
        assert read_in_parts(path, "csv", content, [end]) == read_points(FIXTURES / "lightning" / "csv" / "metrics.csv", "csv")


def test_half_a_number_is_not_read(tmp_path: Path) -> None:
    assert _points(tmp_path, "step,loss\n1,0.5\n2,0.2") == {"loss": [(1, 0.5)]}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=300), st.text("step,epoch\n1.e\"';x\t-", max_size=200).map(str.encode)))
def test_garbage_never_raises(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content + b"\n")
    read_points(path, "csv")
