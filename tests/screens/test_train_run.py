"""What is known of a training from its history and its events."""

import math
from typing import Any

import pytest

from explorer.schemas.events import Event, Failure, Log, Metric, Progress, Result, State
from explorer.schemas.readings import Reading
from explorer.schemas.train_spec import TrainSpec
from screens.train_run import Run
from screens.train_words import facts, headline, side_rows, split_row, trouble
from screens.widgets.facts import fact_rows
from tests.fakes import EPOCH, a_job, an_inventory, job_curves
from tests.screens.scripts import a_checkpoint, an_alarm, training_events


def a_run(*events: Event, spec: TrainSpec | None = None, **job: Any) -> Run:
    run = Run(a_job("7f3a", **job), spec or TrainSpec())
    run.take(numbered(events))
    return run


def numbered(events: tuple[Event, ...]) -> list[Event]:
    return [event.model_copy(update={"seq": seq, "time": EPOCH + seq}) for seq, event in enumerate(events, 1)]


def plain(rows: list[Any]) -> str:
    return "\n".join(row.plain for row in rows)


def fact(run: Run, label: str, wide: bool = True) -> str:
    return dict(facts(run, an_inventory(), wide))[label]


def test_time_left_is_the_workers_and_only_while_it_runs() -> None:
    step = Progress(done=20, total=100, unit="steps", seconds_left=41.0)
    assert "41 s left" in headline(a_run(step))[1]
    assert "left" not in headline(a_run(step, state="paused"))[1]


def test_the_device_and_why_come_from_log_and_result() -> None:
    assert "CPU (no MPS)" in headline(a_run(Log(text="training on the CPU (no MPS)")))[0]
    done = a_run(Result(result={"kind": "train", "device": "cpu", "device_reason": "no GPU"}), state="done")
    assert "cpu (no GPU)" in headline(done)[0]


def test_the_head_names_precision_and_processes() -> None:
    spec = TrainSpec(precision="bfloat16", processes=2, nodes=2, rendezvous="a:1")
    assert "digits_cnn · job 7f3a · bfloat16 · 4 processes" in headline(a_run(spec=spec))[0]
    assert "processes" not in headline(a_run())[0]


def test_why_it_ended_early_stands_in_the_head() -> None:
    result = Result(result={"kind": "train", "device": "cpu", "stopped": "stopped on request after step 40"})
    assert "stopped on request after step 40" in headline(a_run(result, state="done"))[1]


def test_facts_have_the_latest_values() -> None:
    run = a_run(*training_events(steps=1000, upto=500))
    assert fact(run, "loss") == "0.1514"
    assert fact(run, "val accuracy") == "98.0 %"
    assert fact(run, "step") == "2.5 ms"
    assert fact(run, "memory") == "414 MiB of 16.0 GiB"
    assert fact(run, "memory", wide=False) == "414 MiB 3 %"
    assert split_row(run) == "data 8 % fwd 31 % bwd 49 % opt 12 %"


def test_what_is_not_there_says_why_and_is_never_zero() -> None:
    shown = dict(facts(a_run(Log(text="training on CPU (x)")), an_inventory(), wide=True))
    assert shown["loss"] == "–"
    assert shown["val"] == "– not yet"
    assert shown["grad scale"] == "– float32"
    assert shown["step"] == "– at step 100"
    assert shown["on device"] == "– cpu has none"
    assert fact(a_run(spec=TrainSpec(time_every_steps=0)), "step") == "– not timed"
    assert not [value for value in shown.values() if value.startswith("0")]


def test_the_memory_of_a_device_stands_against_its_limit() -> None:
    run = a_run(Log(text="training on mps (auto)"), Metric(steps=[1], values={"device_bytes": [2.0**30]}))
    mac = an_inventory(mps__memory_limit_bytes=Reading(value=48 * 2**30, unit="B", source="torch"))
    assert dict(facts(run, mac, True))["on device"] == "1.00 GiB of 48.0 GiB"
    run.device = "cuda:1 (auto)"
    cards = Reading(value=[{"memory_bytes": 2**30}, {"memory_bytes": 8 * 2**30}], source="torch")
    assert dict(facts(run, an_inventory(cuda__devices=cards), False))["on device"] == "1.00 GiB 12 %"
    assert dict(facts(run, an_inventory(), True))["on device"] == "1.00 GiB"


def test_best_values_know_their_step_and_ignore_nan() -> None:
    values = {"val_loss": [0.5, math.nan, 0.7], "val_accuracy": [0.7, 0.9, 0.9]}
    run = a_run(Metric(steps=[10, 20, 30], values=values))
    assert (run.best["val_loss"].value, run.best["val_loss"].step) == (0.5, 10)
    assert run.best["val_accuracy"].step == 20


def test_after_a_resume_what_lay_beyond_is_forgotten() -> None:
    run = a_run()
    first = run.take(numbered((Metric(steps=[10, 20, 30], values={"loss": [1, 1, 1], "val_loss": [3.0, 2.0, 1.0]}),)))
    assert [type(item) for item in first] == [Metric]
    again = run.take([Metric(steps=[11], values={"loss": [5.0]}), Metric(steps=[12], values={"val_loss": [2.5]})])
    assert [item if isinstance(item, int) else item.steps for item in again] == [10, [11], [12]]
    assert run.best["val_loss"].step == 12
    assert run.latest["loss"] == 5.0


def test_history_and_events_say_the_same() -> None:
    events = training_events(steps=1000, upto=500)
    remembered = Run(a_job("7f3a"), TrainSpec())
    remembered.remember(job_curves(a_job("7f3a"), events))
    followed = a_run(*events)
    assert remembered.latest == followed.latest
    assert remembered.best == followed.best
    assert remembered.smoothed == pytest.approx(followed.smoothed)


def test_asked_rates_compose_until_they_come_back() -> None:
    run = a_run(Metric(steps=[1, 2], values={"lr": [1e-3, 1e-3]}))
    run.ask_rate(1.25)
    run.ask_rate(1.25)
    assert run.rate == pytest.approx(1.5625e-3)
    run.take([Metric(steps=[3], values={"lr": [1.25e-3]})])
    assert run.rate == pytest.approx(1.5625e-3)
    run.take([Metric(steps=[4], values={"lr": [1.5625e-3]})])
    assert run.asked_rate == 1.0
    assert fact(run, "lr") == "0.001563 ×1.56"


def test_the_factor_comes_from_the_log_when_the_screen_was_elsewhere() -> None:
    run = a_run(
        Metric(steps=[1], values={"lr": [2e-3]}), Log(text="learning rate 0.002 from step 9 on, as asked (0.64 of the schedule)")
    )
    assert fact(run, "lr") == "0.002 ×0.64"


def test_checkpoints_stand_newest_first_and_only_those_that_are_kept() -> None:
    run = a_run(*(a_checkpoint(step) for step in (500, 1000, 1500)), spec=TrainSpec(keep_checkpoints=2))
    rows = plain(side_rows(run, 36, short=False))
    assert rows.index("step 1,500 ✓ finite") < rows.index("step 1,000 ✓ finite")
    assert "step 500" not in rows
    assert "CHECKPOINTS  step 1,500 ✓ finite · step 1,000 ✓ finite" in plain(side_rows(run, 36, short=True))


def test_alarms_name_step_and_batch() -> None:
    run = a_run(an_alarm())
    assert "step 812, epoch 3, batch 12" in plain(side_rows(run, 60, short=False))
    assert "ALARMS  NaN in the gradient of conv.weight, step 812, epoch 3, batch 12" in plain(side_rows(run, 36, short=True))
    assert "ALARMS  none" in plain(side_rows(a_run(), 36, short=True))


def test_trouble_names_cause_remedy_alarm_and_the_end_of_the_log() -> None:
    failure = Failure(message="training ended at step 812", remedy="lower it", cause="ExplorerError", log_tail=["a", "b"])
    lines = plain(trouble(a_run(an_alarm(), failure, state="failed"), 200, 6)).splitlines()
    assert lines[:3] == ["✗ failed: training ended at step 812", "cause   ExplorerError", "remedy  lower it"]
    assert lines[3].startswith("alarm   NaN in the gradient of conv.weight, step 812, epoch 3, batch 12")
    assert lines[4:] == ["  a", "  b"]
    assert trouble(a_run(failure, state="running"), 80, 6) == []


def test_trouble_says_from_where_it_can_go_on() -> None:
    run = a_run(a_checkpoint(500), state="lost", headline="its worker is gone", resumable=True)
    lines = plain(trouble(run, 80, 6))
    assert "✗ lost: its worker is gone" in lines
    assert "r goes on from the checkpoint of step 500" in lines
    assert "r goes on from the last checkpoint" in plain(trouble(a_run(state="lost", resumable=True), 80, 6))


def test_a_resumed_training_forgets_its_failure() -> None:
    run = a_run(Failure(message="killed"), State(state="running"))
    assert run.failure is None


def test_facts_stand_in_columns_of_equal_width() -> None:
    rows = fact_rows([("loss", "0.1"), ("a very long label indeed", "1"), ("state", "running")], 60, 3)
    assert len(rows) == 1
    assert len(rows[0]) == 18 * 3 + 6
    assert fact_rows([("checkpoint", "x" * 90)], 30, 1)[0].endswith("…")
