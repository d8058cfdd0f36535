"""From a training to files and other trainers: export, spec, details, logs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.schemas.events import Finding
from explorer.schemas.export_spec import ExportResult, ExportSpec
from explorer.schemas.specs import TrainSpec, spec_from_toml
from screens.app import ExplorerApp
from tests.fakes import FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.scripts import an_alarm, training_events

AppOn = Callable[[FakeEngine], ExplorerApp]
WRITTEN = ExportResult(source="job:7f3a", to="csv", output="/home/user/digits_cnn-7f3a.csv", bytes=61_440, steps=50, values=400)


def an_engine(**more: Any) -> FakeEngine:
    events = [*training_events(steps=1000, upto=500), an_alarm(), Finding(severity="info", title="weights tied", remedy="none")]
    return FakeEngine([a_job("7f3a")], events={"7f3a": events}, specs={"7f3a": TrainSpec(epochs=7)}, **more)


async def opened(pilot: Pilot[None]) -> None:
    await pilot.press("3")
    await until_shown(pilot, "step 500 / 1,000")


async def test_e_writes_the_history_and_says_where(app_on: AppOn) -> None:
    engine = an_engine(answers={"export": WRITTEN})
    async with app_on(engine).run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("e")
        await until_shown(pilot, "digits_cnn-7f3a.csv")
        await pilot.press("enter")
        await until_shown(pilot, "/home/user/digits_cnn-7f3a.csv")
    assert engine.asked == [ExportSpec(source="job:7f3a", output="digits_cnn-7f3a.csv")]


async def test_the_ending_follows_the_format_unless_another_name_was_typed(app_on: AppOn) -> None:
    engine = an_engine(answers={"export": WRITTEN})
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("e")
        await until_shown(pilot, "digits_cnn-7f3a.csv")
        await pilot.press("down", "right")
        await until_shown(pilot, "digits_cnn-7f3a.jsonl")
        await pilot.press("right")
        await until_shown(pilot, "digits_cnn-7f3a.py")
        await pilot.press("down", "ctrl+u", *"mine", "up", "right")
        await until_shown(pilot, "tensorboard")
        assert "mine" in screen_text(pilot)
        assert "digits_cnn-7f3a-events" not in screen_text(pilot)


async def test_an_export_that_fails_is_said(app_on: AppOn) -> None:
    engine = an_engine(answers={"export": ExplorerError("out.csv exists", "choose another name, or overwrite")})
    async with app_on(engine).run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("e")
        await until_shown(pilot, "overwrite")
        await pilot.press("enter")
        await until_shown(pilot, "out.csv exists")


async def test_y_copies_the_spec(app_on: AppOn, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(ExplorerApp, "copy_to_clipboard", lambda self, text: copied.append(text))
    async with app_on(an_engine()).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("y")
        await until(pilot, lambda: copied)
    assert spec_from_toml(copied[0], "clipboard") == TrainSpec(epochs=7)


async def test_enter_shows_everything_on_a_page(app_on: AppOn) -> None:
    async with app_on(an_engine()).run_test(size=(120, 60)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "Training of digits_cnn")
        text = screen_text(pilot)
    for part in ("step 250 ✓ finite", "step 812, epoch 3, batch 12", "weights tied", "96,042 parameters", "val accuracy"):
        assert part in text


async def test_w_watches_a_folder(app_on: AppOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path / "runs")
    app = app_on(an_engine())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("w")
        await until_shown(pilot, "Watch the logs of any trainer below a folder")
        await until_shown(pilot, "this folder")
        await pilot.press("enter")
        await until(pilot, lambda: type(app.screen).__name__ == "WatchScreen")


async def test_the_palette_offers_what_works_now(app_on: AppOn) -> None:
    app = app_on(an_engine())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Train: export  (e)" in titles
        assert "Train: lr down  (-)" in titles
        assert "Train: resume  (r)" not in titles
