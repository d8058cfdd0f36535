"""Steering the training that is shown: every key, when it works, and what the engine hears."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.schemas.events import Metric
from explorer.schemas.specs import TrainSpec
from screens.app import ExplorerApp
from screens.train_settings import problem
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.scripts import a_checkpoint, training_events

AppOn = Callable[[FakeEngine], ExplorerApp]


def running_engine(**job: Any) -> FakeEngine:
    return FakeEngine([a_job("7f3a", **job)], events={"7f3a": training_events(steps=1000, upto=500)}, specs={"7f3a": TrainSpec()})


async def opened(pilot: Pilot[None]) -> None:
    await pilot.press("3")
    await until_shown(pilot, "step 500 / 1,000")
    await until_shown(pilot, "float32")


def bound(app: ExplorerApp) -> set[str]:
    """The actions of Train whose keys work now."""
    found = {active.binding.id for active in app.screen.active_bindings.values() if active.enabled}
    return {name.removeprefix("train.") for name in found if name and name.startswith("train.")}


ALWAYS = {"new", "add", "export", "details", "watch", "copy"}
RATES = {"checkpoint", "raise_rate", "lower_rate", "settings", "stop", "cancel"}


@pytest.mark.parametrize(
    ("job", "works"),
    [
        ({"state": "queued"}, {"cancel"}),
        ({"state": "running"}, {"pause", *RATES}),
        ({"state": "paused"}, {"unpause", *RATES}),
        ({"state": "done"}, set()),
        ({"state": "failed", "resumable": True}, {"resume"}),
        ({"state": "failed"}, set()),
        ({"state": "cancelled", "resumable": True}, {"resume"}),
    ],
)
async def test_keys_work_when_they_apply(app_on: AppOn, job: dict[str, Any], works: set[str]) -> None:
    app = app_on(FakeEngine([a_job("7f3a", **job)]))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job 7f3a")
        assert bound(app) == ALWAYS | works


async def test_plus_and_minus_change_the_rate_and_say_the_new_one(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await engine.say("7f3a", Metric(steps=[510], values={"lr": [1e-3]}))
        await until(pilot, lambda: re.search(r"│ lr +0\.001$", screen_text(pilot), re.MULTILINE))
        await pilot.press("plus")
        await until_shown(pilot, "learning rate × 1.25: 0.00125 from the next step")
        await pilot.press("plus", "minus", "minus", "minus")
        await until_shown(pilot, "learning rate × 0.8: 8.00e-4 from the next step")
        await until(pilot, lambda: len(engine.settings) == 5)
    assert engine.commands == [("7f3a", "set")] * 5
    assert engine.settings == [{"learning_rate_factor": factor} for factor in (1.25, 1.25, 0.8, 0.8, 0.8)]


async def test_the_factor_stands_beside_the_rate(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await engine.say("7f3a", Metric(steps=[510], values={"lr": [1e-3]}))
        await until(pilot, lambda: re.search(r"│ lr +0\.001$", screen_text(pilot), re.MULTILINE))
        await pilot.press("plus")
        await engine.say("7f3a", Metric(steps=[520], values={"lr": [1.25e-3]}))
        await until_shown(pilot, "0.00125 ×1.25")


async def test_m_sets_numbers_exactly(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "now 20")
        await pilot.press(*"nope", "enter")
        await until_shown(pilot, "✗ learning rate: nope is not a number")
        await pilot.press("ctrl+u", *"0.0005", "down", "5", "enter")
        await until(pilot, lambda: engine.settings == [{"learning_rate": 0.0005, "log_every_steps": 5.0}])
        await until_shown(pilot, "learning rate 5.00e-4, log every 5 steps")


async def test_an_empty_form_of_settings_says_nothing(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for leave in ("enter", "escape"):
            await pilot.press("m")
            await until_shown(pilot, "An empty field stays as it is")
            await pilot.press(leave)
            await until_shown(pilot, "step 500 / 1,000")
    assert engine.commands == []


@pytest.mark.parametrize(
    ("rate", "interval", "wrong"),
    [
        ("", "", ""),
        ("3e-4", "20", ""),
        ("0", "", "learning rate: a number above 0"),
        ("nan", "", "learning rate: a number above 0"),
        ("", "2.5", "log every steps: a whole number of steps"),
        ("", "-1", "log every steps: a number above 0"),
    ],
)
def test_wrong_settings_are_named(rate: str, interval: str, wrong: str) -> None:
    assert problem({"learning_rate": rate, "log_every_steps": interval}) == wrong


async def test_x_stops_well_after_a_question_that_tells_it_from_cancelling(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("x")
        await until_shown(pilot, "after this step?")
        assert "the model is saved" in screen_text(pilot)
        assert "(ctrl+x)" in screen_text(pilot)
        await pilot.press("n", "x")
        await until_shown(pilot, "after this step?")
        assert engine.commands == []
        await pilot.press("y")
        await until(pilot, lambda: engine.commands == [("7f3a", "stop")])
        await until_shown(pilot, "done · step 500")


async def test_a_paused_training_can_be_stopped_and_steered(app_on: AppOn) -> None:
    engine = running_engine(state="paused")
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("k", "plus", "x")
        await until_shown(pilot, "after this step?")
        await pilot.press("y")
        await until(pilot, lambda: [command for _, command in engine.commands] == ["checkpoint", "set", "stop"])


async def test_a_checkpoint_appears_when_it_is_written(app_on: AppOn) -> None:
    engine = running_engine()
    async with app_on(engine).run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        assert "step 503 ✓ finite" not in screen_text(pilot)
        await pilot.press("k")
        await until_shown(pilot, "a checkpoint follows at the next step")
        await engine.say("7f3a", a_checkpoint(503))
        await until_shown(pilot, "step 503 ✓ finite")


async def test_ctrl_x_of_an_ended_training_does_nothing(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("7f3a", state="done", ended=EPOCH + 9)])
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "job 7f3a")
        await pilot.press("ctrl+x", "plus", "x", "space", "k", "r")
        await pilot.pause(0.1)
    assert engine.commands == []
