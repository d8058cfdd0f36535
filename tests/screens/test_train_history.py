"""Opening a long training, and what is drawn beside it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.schemas.curves import Curve, RunCurves
from explorer.schemas.events import Log, Metric, State
from screens import train_live
from screens.app import ExplorerApp
from screens.train_live import WHOLE_EVENTS
from screens.widgets.board import Board
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.scripts import a_checkpoint, an_alarm, training_events

AppOn = Callable[[FakeEngine], ExplorerApp]


def long_run(upto: int = 3000) -> FakeEngine:
    events = [*training_events(steps=4000, every=10, upto=upto), an_alarm()]
    return FakeEngine([a_job("7f3a", last_seq=len(events))], events={"7f3a": events})


def drawn(app: ExplorerApp, name: str, run: int = 0) -> list[float]:
    """The steps at which a metric of a run has points."""
    points = app.screen.query_one(Board).runs[run].whole.get(name)
    return [*points.xs] if points is not None else []


async def test_a_long_training_is_asked_for_and_not_replayed(app_on: AppOn) -> None:
    engine = long_run()
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 3,000 / 4,000")
        await until_shown(pilot, "CPU (no MPS: this torch is built without it")
        await until_shown(pilot, "step 3,000 ✓ finite")
        await until_shown(pilot, "✗ NaN in the gradient of conv.weight")
        await until(pilot, lambda: drawn(app, "loss") == list(range(10, 3010, 10)))
        known = len(engine._events["7f3a"])
        assert known > WHOLE_EVENTS
        assert engine.followed == [("7f3a", 0, known)]
        assert [query.sources for query in engine.queries] == [["job:7f3a"]]
        await engine.say("7f3a", Metric(steps=[3010], values={"loss": [0.05]}))
        await until(pilot, lambda: drawn(app, "loss")[-1] == 3010)
        await until_shown(pilot, "loss                            0.05")


async def test_a_history_that_cannot_be_read_is_replayed(app_on: AppOn) -> None:
    engine = long_run()
    engine.runs["job:7f3a"] = RunCurves(source="job:7f3a", name="x", problem="its index is damaged")
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: drawn(app, "loss") == list(range(10, 3010, 10)))
    assert engine.followed == [("7f3a", 0, len(engine._events["7f3a"])), ("7f3a", 0, 0)]


async def test_a_resumed_training_goes_on_from_its_checkpoint(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a", state="lost", resumable=True)], events={"7f3a": training_events(steps=1000, upto=500)})
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: drawn(app, "loss") == list(range(10, 510, 10)))
        await pilot.press("r")
        await engine.say("7f3a", Log(text="going on from step 375"), Metric(steps=[380, 390], values={"loss": [0.3, 0.3]}))
        await until(pilot, lambda: drawn(app, "loss") == [*range(10, 380, 10), 380, 390])
        assert max(drawn(app, "val_loss")) == 300


async def test_metrics_that_come_while_curves_are_on_their_way_are_drawn(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a"), a_job("0a0b", state="done")], events={"7f3a": training_events(steps=1000, upto=500)})
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: drawn(app, "loss")[-1:] == [500])
        screen = app.screen
        assert isinstance(screen, train_live.LiveTraining)
        engine.hold_curves.clear()
        screen.toggle_beside("job:0a0b")
        await until(pilot, lambda: engine.queries)
        await engine.say("7f3a", Metric(steps=[510], values={"loss": [0.1]}))
        await until(pilot, lambda: screen.charted.late)
        engine.hold_curves.set()
        await until(pilot, lambda: not screen.charted.asking)
        await until(pilot, lambda: drawn(app, "loss")[-2:] == [500, 510])


async def test_a_draws_another_training_and_takes_it_away(app_on: AppOn) -> None:
    jobs = [
        a_job("7f3a"),
        a_job("0a0b", state="done", model="my_net", headline="val accuracy 0.9901 in 7 s on cpu", created=EPOCH - 60),
        a_job("0c0d", "convert", state="done"),
    ]
    events = {"7f3a": training_events(steps=1000, upto=500), "0a0b": training_events(steps=1000)}
    engine = FakeEngine(jobs, events=events)
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 500 / 1,000")
        await pilot.press("a")
        await until_shown(pilot, "val accuracy 0.9901 in 7 s on cpu")
        assert "0c0d" not in screen_text(pilot)
        assert "job:7f3a" not in screen_text(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one(Board).sources == ["job:7f3a", "job:0a0b"])
        assert drawn(app, "loss", run=1)[-1] == 1000
        await until_shown(pilot, "my_net 0a0b")
        await pilot.press("a")
        await until_shown(pilot, "2 of 8 on the chart")
        await until_shown(pilot, "● 15 Jan 11:59  my_net")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one(Board).sources == ["job:7f3a"])


async def test_a_log_of_another_trainer_is_drawn_too(app_on: AppOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "metrics.csv"
    log.write_text("step,loss\n1,2\n")
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine([a_job("7f3a")], events={"7f3a": training_events(steps=1000, upto=500)})
    engine.runs[str(log)] = RunCurves(
        source=str(log), name="metrics", format="csv", last_step=40, curves=[Curve(name="loss", xs=[20, 40], ys=[2, 1], last=1)]
    )
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 500 / 1,000")
        await pilot.press("a", "enter")
        await until_shown(pilot, "A log of another trainer")
        await until_shown(pilot, "metrics.csv")
        await pilot.press(*"metr")
        await until_shown(pilot, "metr")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query_one(Board).sources == ["job:7f3a", str(log)])
        assert drawn(app, "loss", run=1) == [20, 40]


async def test_a_run_that_cannot_be_drawn_says_why(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a"), a_job("0a0b", state="done")])
    engine.runs["job:0a0b"] = RunCurves(source="job:0a0b", name="my_net", problem="it said no metrics")
    app = app_on(engine)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job 7f3a")
        await pilot.press("a", "enter")
        await until_shown(pilot, "it said no metrics")
        assert app.screen.query_one(Board).sources == ["job:7f3a"]


async def test_a_running_one_beside_it_goes_on_and_an_ended_one_is_left_alone(
    app_on: AppOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.train.REFRESH_S", 0.05)
    jobs = [a_job("7f3a", created=EPOCH + 9), a_job("0a0b")]
    events = {"7f3a": training_events(steps=1000, upto=500), "0a0b": training_events(steps=1000, upto=200)}
    engine = FakeEngine(jobs, events=events)
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 500 / 1,000")
        await pilot.press("a", "enter")
        await until(pilot, lambda: len(app.screen.query_one(Board).runs) == 2)
        await engine.say("0a0b", Metric(steps=[210], values={"loss": [1.0]}))
        await until(pilot, lambda: drawn(app, "loss", run=1)[-1] == 210)
        await engine.say("0a0b", Metric(steps=[220], values={"loss": [1.0]}), State(state="done"))
        await engine.change("0a0b", state="done")
        await until(pilot, lambda: drawn(app, "loss", run=1)[-1] == 220)
        await pilot.pause(0.3)
        asked = len(engine.queries)
        await pilot.pause(0.3)
        assert len(engine.queries) == asked


async def test_eight_runs_are_the_most(app_on: AppOn) -> None:
    engine = FakeEngine([a_job(f"job{place}") for place in range(9)], events={})
    app = app_on(engine)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job job")
        screen = app.screen
        assert isinstance(screen, train_live.LiveTraining)
        assert screen.run_ is not None
        others = [f"job:job{place}" for place in range(9) if f"job{place}" != screen.run_.job.id]
        for source in others[:7]:
            screen.charted.others[source] = train_live.Beside(source)
        await pilot.press("a", *["down"] * 9, "up", "enter")
        await until_shown(pilot, "8 runs are on the chart; take one away first")
        assert len(screen.charted.others) == 7


async def test_a_checkpoint_before_the_screen_opened_is_known(app_on: AppOn) -> None:
    engine = long_run()
    await engine.say("7f3a", a_checkpoint(2999))
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "CHECKPOINTS  step 2,999 ✓ finite")


async def test_the_charts_of_an_ended_training_span_what_was_done(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a")], events={"7f3a": training_events(steps=1000, upto=500)})
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: len(app.screen.query(Board)) and app.screen.query_one(Board).window == (0, 1000))
        await engine.change("7f3a", state="done")
        await until(pilot, lambda: app.screen.query_one(Board).window == (0, 500))
