"""What is known of a training from its events."""

import math
from typing import Any

import pytest

from explorer.schemas.events import Artifact, Event, Failure, Log, Metric, Progress, Result, State
from screens.train_run import Run, curve
from screens.widgets.facts import fact_rows
from tests.fakes import EPOCH, a_job
from tests.screens.scripts import training_events


def a_run(*events: Event, **job: Any) -> Run:
    run = Run(a_job("7f3a", **job))
    run.take(event.model_copy(update={"seq": seq, "time": EPOCH + seq}) for seq, event in enumerate(events, 1))
    return run


@pytest.mark.parametrize(
    ("metric", "chart", "name"),
    [
        ("loss", "loss", "train"),
        ("val_loss", "loss", "val"),
        ("val_accuracy", "accuracy", "val"),
        ("train/accuracy", "accuracy", "train"),
    ],
)
def test_metrics_find_their_curves(metric: str, chart: str, name: str) -> None:
    place = curve(metric)
    assert place is not None
    assert (place.chart, place.name, place.held_out) == (chart, name, name == "val")


def test_other_metrics_are_not_drawn() -> None:
    assert curve("lr") is None


def test_time_left_follows_the_pace_of_progress() -> None:
    run = a_run(Progress(done=10, total=100, unit="steps"), Progress(done=20, total=100, unit="steps"))
    assert run.seconds_left == pytest.approx(8.0)


def test_time_left_is_not_told_while_paused_or_after_a_pause() -> None:
    steps = [Progress(done=10, total=100), Progress(done=20, total=100)]
    assert a_run(*steps, state="paused").seconds_left is None
    assert a_run(*steps, State(state="paused"), State(state="running")).seconds_left is None


def test_the_device_and_why_come_from_log_and_result() -> None:
    assert "CPU (MPS: not built)" in a_run(Log(text="training on CPU (MPS: not built)")).headline()[0]
    done = a_run(Result(result={"kind": "train", "device": "cpu", "device_reason": "no GPU"}), state="done")
    assert "cpu (no GPU)" in done.headline()[0]


def test_facts_have_the_latest_values() -> None:
    facts = dict(a_run(*training_events(steps=1000, upto=500), Artifact(name="checkpoint.pt", bytes=9)).facts())
    assert facts["samples/s"] == "12,450"
    assert facts["accuracy val"] == "98.0 %"
    assert facts["checkpoint"] == "checkpoint.pt"
    assert facts["state"] == "running"


def test_the_best_value_ignores_nan() -> None:
    run = a_run(Metric(steps=[1, 2, 3], values={"val_loss": [0.5, math.nan, 0.7]}))
    assert run.best == {"loss": 0.5}


def test_trouble_names_cause_remedy_and_the_end_of_the_log() -> None:
    failure = Failure(message="NaN in loss at step 812", remedy="lower learning_rate", cause="ExplorerError", log_tail=["a", "b"])
    lines = a_run(failure, state="failed").trouble()
    assert lines == ["✗ failed: NaN in loss at step 812", "cause   ExplorerError", "remedy  lower learning_rate", "  a", "  b"]
    assert a_run(failure, state="running").trouble() == []


def test_a_lost_training_with_a_checkpoint_says_how_to_go_on() -> None:
    lines = a_run(state="lost", headline="its worker is gone", resumable=True).trouble()
    assert lines[0] == "✗ lost: its worker is gone"
    assert "r goes on from the last checkpoint" in lines[1]


def test_facts_stand_in_columns_of_equal_width() -> None:
    rows = fact_rows([("loss", "0.1"), ("a very long label indeed", "1"), ("state", "running")], 60, 3)
    assert len(rows) == 1
    assert len(rows[0]) == 18 * 3 + 6
    assert fact_rows([("checkpoint", "x" * 90)], 30, 1)[0].endswith("…")
