"""The list of jobs over any screen."""

from collections.abc import Callable

from screens.app import ExplorerApp
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.helpers import screen_text, until, until_shown

AppOn = Callable[[FakeEngine], ExplorerApp]
JOBS = [
    a_job("t1", progress=0.46, message="epoch 6 of 12", seconds_left=41.0),
    a_job("t2", state="queued", model="tiny_transformer", created=EPOCH + 60),
    a_job("t3", state="done", model="ended_net"),
]


async def test_j_lists_the_jobs_that_run_or_wait_newest_first(app_on: AppOn) -> None:
    async with app_on(FakeEngine(JOBS)).run_test(size=(120, 30)) as pilot:
        await until_shown(pilot, "▶ 2 jobs")
        await pilot.press("j")
        await until_shown(pilot, "Jobs that run or wait")
        text = screen_text(pilot)
        assert text.index("tiny_transformer") < text.index("digits_cnn")
        assert "46 %  41 s left  epoch 6 of 12" in text
        assert "ended_net" not in text


async def test_enter_opens_a_job_on_its_screen(app_on: AppOn) -> None:
    async with app_on(FakeEngine(JOBS)).run_test(size=(120, 30)) as pilot:
        await until_shown(pilot, "▶ 2 jobs")
        await pilot.press("j", "down", "enter")
        await until_shown(pilot, "digits_cnn · job t1")


async def test_the_list_follows_changes_and_says_when_it_is_empty(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("t1")])
    async with app_on(engine).run_test(size=(120, 30)) as pilot:
        await until_shown(pilot, "▶ 1 job")
        await pilot.press("j")
        await until_shown(pilot, "▸ 12:00  train")
        await engine.change("t1", state="done")
        await until_shown(pilot, "No job runs or waits.")


async def test_cancel_asks_first(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("t1")])
    async with app_on(engine).run_test(size=(120, 30)) as pilot:
        await until_shown(pilot, "▶ 1 job")
        await pilot.press("j", "ctrl+x")
        await until_shown(pilot, "Stop train of digits_cnn (job t1)?")
        await pilot.press("y")
        await until(pilot, lambda: engine.commands == [("t1", "cancel")])
