"""What an export writes is what TensorBoard, csv and json read back."""

import csv
import json
import math
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from explorer.runs.write_csv import write_csv
from explorer.runs.write_events import write_events
from explorer.runs.write_jsonl import write_jsonl

MILLION_S = 10.0


@dataclass
class Column:
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    times: npt.NDArray[np.float64]


def column(steps: list[int], values: list[float], times: list[float] | None = None) -> Column:
    return Column(np.array(steps), np.array(values, float), np.array(times or [math.nan] * len(steps), float))


ODD = {
    "loss": column(
        [1, 2, 3, 127, 128, 16_384, 2**40],
        [0.1, math.nan, math.inf, -math.inf, 1e39, 1e-46, -0.0],
        [1.7e9 + k / 7 for k in range(7)],
    ),
    "val_accuracy": column([2, 128], [0.5, 1 / 3], [1.7e9 + 0.9, 1.7e9 + 1]),
    'names with, "signs" äé': column([3], [7.0]),
}


def tensorboards_reading(folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    """Tags with (step, wall time, value), by TensorBoard's own reader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events: Any = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        events.Reload()
    return {tag: [(item.step, item.wall_time, item.value) for item in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def float32_bits(values: Any) -> list[int]:
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float32).view(np.uint32).tolist()  # type: ignore[no-any-return]


def test_tensorboards_own_reader_gives_every_value_step_and_time_back(tmp_path: Path) -> None:
    write_events(ODD, tmp_path / "run")
    read = tensorboards_reading(tmp_path / "run")
    assert read.keys() == ODD.keys()
    for name, item in ODD.items():
        assert [step for step, _, _ in read[name]] == item.steps.tolist()
        assert float32_bits([value for _, _, value in read[name]]) == float32_bits(item.values)
        assert [seconds for _, seconds, _ in read[name]] == np.nan_to_num(item.times).tolist()


def test_an_event_file_is_named_and_begins_as_tensorboard_wants(tmp_path: Path) -> None:
    write_events(ODD, tmp_path / "run")
    (path,) = (tmp_path / "run").iterdir()
    assert path.name.startswith("events.out.tfevents.1700000000.")
    assert b"brain.Event:2" in path.read_bytes()[:40]


def test_damage_in_an_event_file_is_noticed_by_its_checksum(tmp_path: Path) -> None:
    """TensorBoard's reader checks what we wrote: a flipped bit ends its reading."""
    write_events({"loss": column([1, 2, 3], [1, 2, 3])}, tmp_path / "run")
    (path,) = (tmp_path / "run").iterdir()
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    assert [step for step, _, _ in tensorboards_reading(tmp_path / "run")["loss"]] == [1, 2]


def test_csv_has_a_row_a_step_and_an_empty_cell_for_no_value(tmp_path: Path) -> None:
    write_csv(ODD, tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["step", "time", *ODD]
    assert [int(row[0]) for row in rows] == [1, 2, 3, 127, 128, 16_384, 2**40]
    assert rows[0][2:] == ["0.1", "", ""]
    assert rows[1][1:4] == [repr(1.7e9 + 0.9), "nan", "0.5"], "the time of the last value of a step"
    assert [row[2] for row in rows[2:4]] == ["inf", "-inf"]
    for place, item in enumerate(ODD.values(), 2):
        np.testing.assert_array_equal([float(row[place]) for row in rows if row[place]], item.values)


def test_jsonl_is_strict_json_with_an_object_a_step(tmp_path: Path) -> None:
    write_jsonl(ODD, tmp_path / "run.jsonl")

    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not JSON")

    rows = [json.loads(line, parse_constant=refuse) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert rows[0] == {"step": 1, "time": 1.7e9, "loss": 0.1}
    assert [row["loss"] for row in rows[1:4]] == ["NaN", "Infinity", "-Infinity"]
    for name, item in ODD.items():
        assert [row["step"] for row in rows if name in row] == item.steps.tolist()
        np.testing.assert_array_equal([float(row[name]) for row in rows if name in row], item.values)


def test_a_metric_called_step_makes_no_second_column_of_that_name(tmp_path: Path) -> None:
    write_csv({"step": column([1], [2.0]), "time": column([1], [3.0])}, tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "step,time,step_value,time_value\n1,,2.0,3.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_events, write_csv, write_jsonl])
def test_a_million_values_are_written_in_ten_seconds(write: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    steps = np.arange(1, 500_001)
    times = 1.7e9 + np.cumsum(random.random(len(steps)))
    series = {name: Column(steps, random.random(len(steps)), times) for name in ("loss", "lr")}
    began_s = time.monotonic()
    write(series, tmp_path / "run")
    assert time.monotonic() - began_s < MILLION_S
