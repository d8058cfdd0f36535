"""The events of our own jobs, written by the engine's own writer's format."""

import math
from pathlib import Path

from explorer.runs.job_log import JobLogReader
from explorer.schemas.events import Event, Log, Metric, Progress, State
from tests.runs.logs import open_run, points_of, read_in_parts, read_points


def _job(folder: Path, *events: Event) -> Path:
    (folder / "artifacts").mkdir(parents=True)
    (folder / "spec.json").write_text("{}")
    lines = [event.model_copy(update={"seq": seq}).model_dump_json() + "\n" for seq, event in enumerate(events, 1)]
    (folder / "events.jsonl").write_text("".join(lines))
    return folder


def _metric(time: float, first: int, last: int, value: float, name: str = "loss") -> Metric:
    steps = list(range(first, last + 1))
    return Metric(time=time, steps=steps, values={name: [value] * len(steps)})


RUNNING = State(time=100.0, state="running")


def test_columns_of_events_are_one_curve(tmp_path: Path) -> None:
    job = _job(tmp_path / "j", RUNNING, _metric(110, 1, 3, 1.0), _metric(120, 3, 3, 5.0, "val_loss"), _metric(130, 4, 5, 2.0))
    assert read_points(job, "job") == {
        "loss": [(1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 2.0)],
        "val_loss": [(3, 5.0)],
    }


def test_times_are_spread_over_the_steps_of_an_event(tmp_path: Path) -> None:
    run = open_run(_job(tmp_path / "j", RUNNING, _metric(110, 1, 2, 1.0), _metric(114, 3, 6, 1.0)), "job")
    run.refresh()
    assert run.history.series["loss"].times.tolist() == [105.0, 110.0, 111.0, 112.0, 113.0, 114.0]


def test_a_resumed_job_says_steps_again_and_voids_all_that_lies_beyond(tmp_path: Path) -> None:
    job = _job(
        tmp_path / "j",
        RUNNING,
        _metric(110, 1, 20, 1.0),
        _metric(111, 10, 10, 7.0, "val_loss"),
        _metric(112, 20, 20, 8.0, "val_loss"),
        RUNNING,
        _metric(120, 15, 18, 2.0),
    )
    found = read_points(job, "job")
    assert found["loss"] == [(step, 1.0) for step in range(1, 15)] + [(step, 2.0) for step in range(15, 19)]
    assert found["val_loss"] == [(10, 7.0)]


def test_a_pause_voids_nothing(tmp_path: Path) -> None:
    paused = State(time=111.0, state="paused")
    job = _job(tmp_path / "j", RUNNING, _metric(110, 1, 20, 1.0), paused, RUNNING, _metric(112, 20, 20, 3.0, "val_loss"))
    assert len(read_points(job, "job")["loss"]) == 20


def test_nan_and_infinity_survive(tmp_path: Path) -> None:
    metric = Metric(steps=[1, 2, 3], values={"loss": [math.nan, math.inf, -math.inf]})
    assert read_points(_job(tmp_path / "j", metric), "job")["loss"] == [(1, "nan"), (2, math.inf), (3, -math.inf)]


def test_other_events_and_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    job = _job(tmp_path / "j", RUNNING, Log(text='"kind":"metric"'), Progress(done=1), _metric(110, 1, 1, 1.0))
    with (job / "events.jsonl").open("a") as stream:
        stream.write('{"seq":9,"time":1,"kind":"metric","steps":[2],"values":{"loss":[1,2],"x":["y"]}}\n')
        stream.write('{"seq":9,"time":1,"kind":"metric","steps":["2"],"values":7}\nrubbish\n')
    assert read_points(job, "job") == {"loss": [(1, 1.0)]}


def test_a_torn_end_at_every_byte_means_not_yet(tmp_path: Path) -> None:
    job = _job(tmp_path / "j", RUNNING, _metric(110, 1, 3, 1.0), RUNNING, _metric(120, 2, 3, 2.0))
    content = (job / "events.jsonl").read_bytes()
    for end in range(len(content)):
        assert read_in_parts(tmp_path / str(end) / "events.jsonl", "job", content, [end]) == read_points(job, "job")


def test_what_is_new_comes_once(tmp_path: Path) -> None:
    job = _job(tmp_path / "j", RUNNING, _metric(110, 1, 3, 1.0))
    reader = JobLogReader(job)
    assert sum(len(batch.columns) for batch in reader.read()) == 1
    assert list(reader.read()) == []
    with (job / "events.jsonl").open("a") as stream:
        stream.write(_metric(120, 4, 5, 2.0).model_dump_json() + "\n")
    (batch,) = reader.read()
    assert batch.columns["loss"].steps.tolist() == [4, 5]


def test_a_job_without_values_says_so(tmp_path: Path) -> None:
    run = open_run(_job(tmp_path / "j", RUNNING), "job")
    assert points_of(run) == {}
    assert run.problem == "j has no values yet"
