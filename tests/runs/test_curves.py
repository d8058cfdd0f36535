"""Curves for charts, and whole histories for exports."""

import json
import math
from pathlib import Path

import pytest

from explorer import home
from explorer.errors import ExplorerError
from explorer.runs.curves import answer
from explorer.runs.history import read_history
from explorer.runs.library import Library
from explorer.runs.sources import find_source
from explorer.schemas.curves import CurvesQuery, RunCurves
from tests.runs.logs import FIXTURES


def _ask(path: Path, **asked: object) -> RunCurves:
    source = str(path)
    return answer(source, Library().open(find_source(source)), CurvesQuery.model_validate({"sources": [source], **asked}))


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    rows = "".join(f"{step},{1_700_000_000 + step / 2},{'nan' if step == 500 else step % 97}\n" for step in range(5000))
    path.write_text("step,timestamp,loss\n" + rows)
    return path


def test_a_long_curve_is_thinned_and_says_what_stands_behind(long_log: Path) -> None:
    run = _ask(long_log, points=100)
    (curve,) = run.curves
    assert (curve.name, curve.count, curve.last) == ("loss", 5000, 4999 % 97)
    assert len(curve.xs) == len(curve.ys) <= 100
    assert any(map(math.isnan, curve.ys))
    assert (run.format, run.name, run.last_step) == ("csv", "log.csv", 4999)
    assert (run.first_time, run.last_time) == (1_700_000_000.0, 1_700_002_499.5)


def test_zooming_gives_every_point_within(long_log: Path) -> None:
    (curve,) = _ask(long_log, start=1000, stop=1010.5).curves
    assert curve.xs == list(range(1000, 1011))
    assert curve.ys == [step % 97 for step in range(1000, 1011)]
    assert curve.count == 11


def test_time_is_in_seconds_since_the_first_value(long_log: Path) -> None:
    (curve,) = _ask(long_log, axis="time", start=1.0, stop=2.0).curves
    assert curve.xs == [1.0, 1.5, 2.0]
    assert curve.ys == [2.0, 3.0, 4.0]


def test_a_log_without_times_says_so() -> None:
    run = _ask(FIXTURES / "keras" / "training.csv", axis="time")
    assert run.curves == []
    assert run.problem == "training.csv has no times: show it by step"


def test_only_the_names_asked_for_in_their_order() -> None:
    run = _ask(FIXTURES / "keras" / "training.csv", names=["val_loss", "nothing", "loss"])
    assert [curve.name for curve in run.curves] == ["val_loss", "loss"]


def test_a_clock_set_back_does_not_fold_the_curve(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,timestamp,loss\n1,1700000010,1\n2,1700000005,2\n3,1700000020,3\n")
    (curve,) = _ask(path, axis="time").curves
    assert curve.xs == [0.0, 0.0, 10.0]


def test_the_whole_history_is_unthinned(long_log: Path) -> None:
    history = read_history(str(long_log))
    assert (history.name, history.format, history.problem) == ("log.csv", "csv", "")
    assert len(history.series["loss"].steps) == len(history.series["loss"].values) == len(history.series["loss"].times) == 5000


def test_a_job_is_found_by_any_unique_part_of_its_id(explorer_home: Path) -> None:
    for job_id in ("261130-101500-ab12", "261130-111500-cd34"):
        folder = home.jobs_folder() / job_id
        folder.mkdir()
        (folder / "spec.json").write_text("{}")
        event = {"seq": 1, "time": 5.0, "kind": "metric", "steps": [1], "values": {"loss": [0.5]}}
        (folder / "events.jsonl").write_text(json.dumps(event, separators=(",", ":")) + "\n")
    for text in ("ab12", "261130-10", "261130-101500-ab12"):
        assert read_history(f"job:{text}").name == "261130-101500-ab12"
    with pytest.raises(ExplorerError, match="2 jobs match '261130'"):
        read_history("job:261130")
    with pytest.raises(ExplorerError, match="there is no job 'zz'"):
        read_history("job:zz")


def test_a_run_without_values_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n")
    with pytest.raises(ExplorerError, match=r"log\.csv"):
        read_history(str(tmp_path / "log.csv"))


def test_the_library_forgets_the_longest_unused(long_log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(long_log.read_bytes())
    library = Library(kept_bytes=1)
    first, second = find_source(str(long_log)), find_source(str(other))
    kept, _ = library.open(first), library.open(second)
    library.shrink({first})
    assert library.open(first) is kept
    library.open(second)
    library.shrink(set())
    assert library.open(first) is not kept
