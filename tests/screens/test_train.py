"""The Train screen: starting, watching, steering, and why it ended."""

from collections.abc import Callable

from explorer.errors import ExplorerError
from explorer.schemas.events import Failure, Progress, Result
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec
from screens.app import ExplorerApp
from screens.widgets.board import Board
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.machines import measured_events, measured_job
from tests.screens.scripts import training_events

AppOn = Callable[[FakeEngine], ExplorerApp]


def running_engine(upto: int = 500) -> FakeEngine:
    return FakeEngine([a_job("7f3a")], events={"7f3a": training_events(steps=1000, upto=upto)})


def drawn(board: Board, name: str, run: int = 0) -> list[float]:
    """The steps at which a metric of a run has points."""
    return [*board.runs[run].whole[name].xs]


async def test_an_empty_screen_tells_the_first_key(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "Press n for a new one")


async def test_n_then_enter_starts_a_training_and_shows_it(app_on: AppOn) -> None:
    engine = FakeEngine()
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "AMD EPYC")
        await pilot.press("3", "n")
        await until_shown(pilot, "New training")
        await pilot.press("enter")
        await until_shown(pilot, "digits_cnn · job new1")
        await until_shown(pilot, "queued")
    assert engine.submitted == [TrainSpec()]


async def test_a_refused_training_is_said(app_on: AppOn) -> None:
    engine = FakeEngine()
    async with app_on(engine).run_test(size=(80, 24), notifications=True) as pilot:
        await until_shown(pilot, "AMD EPYC")
        await pilot.press("3", "n")
        engine.refuse = ExplorerError("the disk is full", "remove old jobs")
        await pilot.press("enter")
        await until_shown(pilot, "the disk is full")


async def test_a_running_training_is_shown_live_when_the_screen_opens(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 500 / 1,000")
        await until_shown(pilot, "CPU (no MPS: this torch is built without it")
        await engine.say("7f3a", *[Progress(done=510, total=1000, unit="steps")])
        await until_shown(pilot, "step 510 / 1,000")


async def test_the_x_axis_is_the_whole_run(app_on: AppOn) -> None:
    app = app_on(running_engine())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 500 / 1,000")
        await until(pilot, lambda: app.screen.query_one(Board).window == (0, 1000))


async def test_the_latest_active_training_is_picked_before_newer_ended_ones(app_on: AppOn) -> None:
    jobs = [
        a_job("old"),
        a_job("run", created=EPOCH + 5),
        a_job("end", state="done", created=EPOCH + 9),
        a_job("c", "convert", created=EPOCH + 9),
    ]
    async with app_on(FakeEngine(jobs)).run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job run")


async def test_else_the_last_one_that_ended_is_shown(app_on: AppOn) -> None:
    jobs = [a_job("first", state="done"), a_job("last", state="cancelled", created=EPOCH + 5)]
    async with app_on(FakeEngine(jobs)).run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job last")


async def test_space_pauses_and_goes_on_and_k_saves(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "space pause")
        await pilot.press("k")
        await until(pilot, lambda: engine.commands == [("7f3a", "checkpoint")])
        await pilot.press("space")
        await until_shown(pilot, "paused · step")
        await pilot.press("space")
        await until_shown(pilot, "running · step")
    assert [command for _, command in engine.commands] == ["checkpoint", "pause", "resume"]


async def test_cancel_asks_first(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "space pause")
        await pilot.press("ctrl+x")
        await until_shown(pilot, "Stop the training of digits_cnn (job 7f3a),")
        await pilot.press("n", "ctrl+x")
        await until_shown(pilot, "Stop the training")
        assert engine.commands == []
        await pilot.press("y")
        await until_shown(pilot, "cancelled · step")


async def test_a_failed_training_shows_cause_remedy_and_log_and_can_go_on(app_on: AppOn) -> None:
    failure = Failure(
        message="NaN in loss at step 812", remedy="lower learning_rate", cause="ExplorerError", log_tail=["step 812"]
    )
    engine = FakeEngine(
        [a_job("7f3a", state="failed", ended=EPOCH + 9, resumable=True)],
        events={"7f3a": [*training_events(steps=1000, upto=800), failure]},
    )
    async with app_on(engine).run_test(size=(100, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "✗ failed: NaN in loss at step 812")
        assert "remedy  lower learning_rate" in screen_text(pilot)
        assert "step 812" in screen_text(pilot)
        await pilot.press("r")
        await until_shown(pilot, "running · step")
    assert engine.commands == [("7f3a", "resume")]


async def test_a_lost_engine_loses_no_point_when_it_comes_back() -> None:
    first, second = running_engine(upto=300), running_engine(upto=700)
    engines = iter([first, second])

    async def connect() -> FakeEngine:
        return next(engines)

    app = ExplorerApp(connect)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "step 300 / 1,000")
        await first.lose()
        await until_shown(pilot, "does not answer")
        await until_shown(pilot, "step 700 / 1,000")
        board = app.screen.query_one(Board)
        await until(pilot, lambda: drawn(board, "loss") == list(range(10, 710, 10)))


async def test_a_removed_training_leaves_the_empty_screen(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a", state="done")])
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job 7f3a")
        await engine.remove("7f3a")
        await until_shown(pilot, "No training yet")


async def test_an_ended_training_says_how_close_it_came_to_the_measured_limit(app_on: AppOn) -> None:
    ended = TrainResult(
        device="cpu",
        device_reason="",
        steps=1000,
        seconds=46.0,
        parameters=96_042,
        flops_per_sample=2.9e7,
        samples_per_s=12_000.0,
        metrics={"loss": 0.04},
        model="model.safetensors",
    )
    said = [*training_events(steps=1000), Result(result=ended.model_dump(mode="json"))]
    jobs = [a_job("7f3a", state="done", ended=EPOCH + 46), measured_job()]
    engine = FakeEngine(jobs, events={"7f3a": said, "c3f1": measured_events()})
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "AMD EPYC")
        await pilot.press("3")
        await until_shown(pilot, "12 % of the measured float32 rate of 12 threads")
