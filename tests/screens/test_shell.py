"""The shell: six screens by their digits, jobs, keys and palette; a lost engine; leaving."""

import asyncio
from collections.abc import Callable

import pytest

from explorer.engine.client import Engine
from explorer.errors import ExplorerError
from screens.actions import SECTIONS
from screens.app import ExplorerApp
from screens.base import ExplorerScreen
from tests.fakes import FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown

AppOn = Callable[[FakeEngine], ExplorerApp]


async def test_digits_show_the_six_screens(app_on: AppOn) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        for place, section in enumerate(SECTIONS, start=1):
            await pilot.press(str(place))
            await pilot.pause()
            assert isinstance(app.screen, ExplorerScreen)
            assert section == app.screen.SECTION


async def test_the_first_paint_does_not_wait_for_the_engine() -> None:
    answer: asyncio.Future[Engine] = asyncio.Future()
    app = ExplorerApp(lambda: answer)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "connecting to the engine…")
        assert "1 Hardware" in screen_text(pilot)
        assert "q leave" in screen_text(pilot)
        answer.set_result(FakeEngine())
        await until_shown(pilot, "AMD EPYC 7B13")
        assert "connecting" not in screen_text(pilot)


async def test_a_lost_engine_is_said_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = [FakeEngine([a_job("a")]), FakeEngine([a_job("a"), a_job("b")])]
    remaining = iter(engines)

    async def connect() -> Engine:
        return next(remaining)

    app = ExplorerApp(connect)
    async with app.run_test(size=(100, 24)) as pilot:
        await until_shown(pilot, "▶ 1 job")
        await engines[0].lose()
        await until_shown(pilot, "✗ the engine does not answer (the engine has gone")
        await until_shown(pilot, "▶ 2 jobs")
        assert "does not answer" not in screen_text(pilot)


async def test_an_engine_that_cannot_be_reached_is_tried_again() -> None:
    tries: list[int] = []

    async def connect() -> Engine:
        tries.append(1)
        if len(tries) == 1:
            raise ExplorerError("engine 0.3 is busy", "wait for its jobs")
        return FakeEngine()

    app = ExplorerApp(connect)
    async with app.run_test(size=(120, 24)) as pilot:
        await until_shown(pilot, "engine 0.3 is busy: wait for its jobs")
        await until_shown(pilot, "AMD EPYC 7B13")


async def test_help_lists_the_keys_of_the_screen_below(app_on: AppOn) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 90)) as pilot:
        await pilot.press("3", "question_mark")
        await until_shown(pilot, "Open the form for a new training")
        assert "Leave the program; jobs go on" in screen_text(pilot)
        await pilot.press("escape")
        await until_shown(pilot, "No training yet")


async def test_the_footer_lists_what_works_now(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("a")])
    app = app_on(engine)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "space pause")
        await engine.change("a", state="paused")
        await until_shown(pilot, "space go on")
        assert "space pause" not in screen_text(pilot)


async def test_the_palette_offers_what_applies_now(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("a")])
    app = app_on(engine)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "space pause")
        names = [command.title for command in app.get_system_commands(app.screen)]
        assert "Train: pause  (space)" in names
        assert "explorer: leave  (q)" in names
        assert not [name for name in names if name.startswith("Train: resume")]
        await pilot.press("ctrl+p")
        await pilot.press(*"pause")
        await until_shown(pilot, "Pause at the next step")
        await pilot.press("enter")
        await until(pilot, lambda: engine.commands == [("a", "pause")])


async def test_leaving_says_that_jobs_go_on(app_on: AppOn, capsys: pytest.CaptureFixture[str]) -> None:
    app = app_on(FakeEngine([a_job("a"), a_job("b", state="paused"), a_job("c", state="done")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "▶ 2 jobs")
        await pilot.press("q")
    assert app.return_code == 0
    assert "2 jobs go on in the background; `explorer` shows them again." in capsys.readouterr().err


@pytest.mark.parametrize("size", [(59, 24), (80, 15), (20, 5)])
async def test_a_terminal_that_is_too_small_is_told_so(app_on: AppOn, size: tuple[int, int]) -> None:
    app = app_on(FakeEngine([a_job("a")]))
    async with app.run_test(size=size) as pilot:
        for key in ("3", "1"):
            await pilot.press(key)
            await pilot.pause()
            assert "60 × 16" in screen_text(pilot)
        await pilot.press("j", "escape", "question_mark")
        await pilot.pause()


async def test_it_comes_back_when_the_terminal_grows(app_on: AppOn) -> None:
    app = app_on(FakeEngine())
    async with app.run_test(size=(40, 10)) as pilot:
        await until_shown(pilot, "60 × 16")
        await pilot.resize_terminal(80, 24)
        await until_shown(pilot, "Neural Engine")
        assert "60 × 16" not in screen_text(pilot)


async def test_no_color_selects_a_theme_of_the_terminals_own_colours(monkeypatch: pytest.MonkeyPatch, app_on: AppOn) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_on(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "AMD EPYC 7B13")
        assert app.theme == "explorer-plain"
        assert app.native_ansi_color


async def test_machine_and_jobs_stand_in_the_top_line_when_it_is_wide(app_on: AppOn) -> None:
    app = app_on(FakeEngine([a_job("a")]))
    async with app.run_test(size=(140, 30)) as pilot:
        await until_shown(pilot, "▶ 1 job")
        await until_shown(pilot, "testhost · AMD EPYC 7B13 · 30.7 GiB")


async def test_the_top_line_shortens_before_it_loses_the_jobs(app_on: AppOn) -> None:
    async with app_on(FakeEngine([a_job("a")])).run_test(size=(60, 16)) as pilot:
        await pilot.press("3")
        await until_shown(pilot, "▶ 1 job")
        assert screen_text(pilot).splitlines()[0].split() == ["1", "2", "3", "Train", "4", "5", "6", "▶", "1", "job"]
