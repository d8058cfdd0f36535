"""What the Train screen looks like in each state, at both sizes: `pytest --snapshot-update` after looking."""

from typing import Any

from textual.pilot import Pilot

from explorer.schemas.events import Event, Failure, Log, Metric, Result, State
from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import TrainResult
from explorer.schemas.train_result import Checkpoint
from explorer.schemas.train_spec import TrainSpec
from screens.widgets.board import Board
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.helpers import until, until_shown
from tests.screens.machines import a_full_mac
from tests.screens.scripts import an_alarm, starved, training_events
from tests.screens.test_snapshots import SnapCompare, both_sizes, keys_then, snap

Size = tuple[int, int]
MPS = "MPS"


def an_engine(events: list[Event], *more: JobSummary, spec: TrainSpec | None = None, **job: Any) -> FakeEngine:
    """One training with these events."""
    return FakeEngine([a_job("7f3a", progress=0.46, **job), *more], events={"7f3a": events}, specs={"7f3a": spec or TrainSpec()})


@both_sizes
def test_train_empty(snap_compare: SnapCompare, size: Size) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("Press n for a new one", "3"))


@both_sizes
def test_train_live_on_mps(snap_compare: SnapCompare, size: Size) -> None:
    """Mixed precision, checkpoints, an alarm."""
    spec = TrainSpec(precision="float16")
    told = training_events(4000, upto=1840, device=MPS, grad_scale=65_536.0, device_bytes=412 * 2.0**20)
    engine = an_engine([*told, starved()], spec=spec)
    engine.know(a_full_mac())
    assert snap(snap_compare, engine, size, keys_then("float16", "3"))


@both_sizes
def test_train_paused_with_another_rate(snap_compare: SnapCompare, size: Size) -> None:
    engine = an_engine(training_events(4000, upto=1840))

    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("step 1,840 / 4,000", "3")(pilot)
        await pilot.press("plus", "plus")
        await engine.say("7f3a", Metric(steps=[1850], values={"loss": [0.18], "lr": [2.65e-3]}))
        await until_shown(pilot, "×1.56")
        await pilot.press("space")
        await until_shown(pilot, "paused · step")
        await pilot.pause(0.3)

    assert snap(snap_compare, engine, size, before)


@both_sizes
def test_train_failed_by_nan(snap_compare: SnapCompare, size: Size) -> None:
    failure = Failure(
        message="NaN in the gradient of conv.weight at step 1840, epoch 3, batch 12",
        remedy="lower learning_rate, or set clip_grad_norm; the last checkpoint is finite",
        log_tail=["epoch 6 of 12", "loss 3.1e4", "loss nan"],
    )
    events = [*training_events(4000, upto=1840), an_alarm(1840), failure]
    engine = an_engine(events, state="failed", ended=EPOCH + 46, resumable=True, headline=failure.message)
    assert snap(snap_compare, engine, size, keys_then("✗ failed", "3"))


@both_sizes
def test_train_failed_in_code_of_the_user(snap_compare: SnapCompare, size: Size) -> None:
    failure = Failure(
        message="your step failed at /home/user/steps.py, line 12: ZeroDivisionError: division by zero",
        remedy="mend that line",
        cause="ZeroDivisionError",
    )
    events = [*training_events(4000, upto=600), failure]
    engine = an_engine(events, state="failed", ended=EPOCH + 46, headline=failure.message, spec=TrainSpec(step="steps.py:step"))
    assert snap(snap_compare, engine, size, keys_then("line 12", "3"))


@both_sizes
def test_train_resumed(snap_compare: SnapCompare, size: Size) -> None:
    """Killed after step 1,840, gone on from its checkpoint of step 1,500."""
    again = training_events(4000, upto=1700, since=1500)
    events = [*training_events(4000, upto=1840), State(state="lost"), *again, Log(text="going on from step 1,500")]
    assert snap(snap_compare, an_engine(events), size, keys_then("step 1,700 / 4,000", "3"))


@both_sizes
def test_train_data_parallel(snap_compare: SnapCompare, size: Size) -> None:
    spec = TrainSpec(processes=4, backend="gloo")
    events = training_events(4000, upto=1840, device="the CPU, as asked")
    assert snap(snap_compare, an_engine(events, spec=spec), size, keys_then("4 processes", "3"))


@both_sizes
def test_train_overlay(snap_compare: SnapCompare, size: Size) -> None:
    engine = an_engine(training_events(4000, upto=1840), *others())
    engine._events |= {"0a0b": training_events(4000), "0c0d": training_events(4000, every=20, upto=2500)}

    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("step 1,840 / 4,000", "3")(pilot)
        await pilot.press("a", "enter")
        await until(pilot, lambda: len(pilot.app.screen.query(Board)) and len(pilot.app.screen.query_one(Board).runs) == 2)
        await pilot.press("a", "down", "enter")
        await until(pilot, lambda: len(pilot.app.screen.query(Board)) and len(pilot.app.screen.query_one(Board).runs) == 3)
        await pilot.pause(0.3)

    assert snap(snap_compare, engine, size, before)


@both_sizes
def test_choice_of_runs_beside(snap_compare: SnapCompare, size: Size) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("step 1,840 / 4,000", "3")(pilot)
        await pilot.press("a")
        await until_shown(pilot, "a log of another trainer")

    assert snap(snap_compare, an_engine(training_events(4000, upto=1840), *others()), size, before)


@both_sizes
def test_settings(snap_compare: SnapCompare, size: Size) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("float32", "3")(pilot)
        await until_shown(pilot, "step 1,840 / 4,000")
        await pilot.press("m", *"3e-4")
        await until_shown(pilot, "3e-4")

    assert snap(snap_compare, an_engine(training_events(4000, upto=1840)), size, before)


@both_sizes
def test_question_before_stopping(snap_compare: SnapCompare, size: Size) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("step 1,840 / 4,000", "3")(pilot)
        await pilot.press("x")
        await until_shown(pilot, "after this step?")

    assert snap(snap_compare, an_engine(training_events(4000, upto=1840)), size, before)


@both_sizes
def test_page_of_a_finished_training(snap_compare: SnapCompare, size: Size) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("done · step", "3")(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "Training of digits_cnn")

    events = [*training_events(4000), starved(), Result(result=a_result().model_dump(mode="json"))]
    engine = an_engine(events, state="done", ended=EPOCH + 12, headline="val accuracy 0.99 in 11 s on cpu")
    assert snap(snap_compare, engine, size, before)


@both_sizes
def test_form_of_an_export(snap_compare: SnapCompare, size: Size) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("job 7f3a", "3")(pilot)
        await pilot.press("e")
        await until_shown(pilot, "overwrite")

    assert snap(snap_compare, an_engine(training_events(4000)), size, before)


def others() -> list[JobSummary]:
    """Two earlier trainings."""
    return [
        a_job("0a0b", state="done", created=EPOCH - 600, headline="val accuracy 0.9901 in 11 s on cpu"),
        a_job("0c0d", state="cancelled", created=EPOCH - 1200, model="big_resnet", headline="cancelled"),
    ]


def a_result() -> TrainResult:
    """A training that ended on request."""
    return TrainResult(
        device="cpu",
        device_reason="no MPS, no CUDA",
        steps=4000,
        seconds=10.9,
        stopped="stopped at step 4000, as asked",
        parameters=96_124,
        flops_per_sample=2.9e7,
        samples_per_s=12_430.0,
        step_ms={"data": 0.2, "forward": 0.78, "backward": 1.2, "optimizer": 0.3},
        peak_rss_bytes=432 * 2**20,
        metrics={"loss": 2.12e-4, "val_accuracy": 0.9944},
        best_step=3500,
        model="model.safetensors",
        checkpoint="checkpoint.pt",
        checkpoints=[Checkpoint(name="checkpoints/step-4000.pt", step=4000, bytes=1_160_000)],
        alarms=["data starvation at step 600"],
    )
