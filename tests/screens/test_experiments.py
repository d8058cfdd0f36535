"""Experiments: find, look into, repeat, compare, resume and remove jobs."""

from collections.abc import Callable
from functools import partial

import pytest

from explorer.errors import ExplorerError
from screens.app import ExplorerApp
from screens.job_rows import matching
from tests.fakes import EPOCH, FakeEngine, a_job, connected
from tests.screens.helpers import screen_text, showing, until, until_shown
from tests.screens.journey import SPECS, journey

AppOn = Callable[[FakeEngine], ExplorerApp]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


shows = partial(showing, "6", "9 jobs")


async def test_the_newest_job_is_on_top_with_its_lineage(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await until_shown(pilot, "lineage  train 7f3a → convert 81bc → benchmark 876a")
        text = screen_text(pilot)
        assert text.index("benchmark") < text.index("quantize") < text.index("my_net")
        await pilot.press("end")
        await until_shown(pilot, "✗ NaN in gradient at step 812, batch 12")


async def test_enter_shows_spec_result_findings_and_log(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 60)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press(*["down"] * 6, "enter")
        await until_shown(pilot, "Job 81bc: convert digits_cnn")
        text = screen_text(pilot)
        for shown in ('source = "job:7f3a"', "float32 error", "model.onnx", "load 0.0 s", "torch.onnx: exported 12 nodes"):
            assert shown in text
        await pilot.press("escape")
        await until_shown(pilot, "9 jobs")


async def test_repeat_submits_the_same_spec(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("r")
        await until(pilot, lambda: engine.submitted == [SPECS["876a"]])
        await until_shown(pilot, "10 jobs")


async def test_marked_jobs_are_compared_differences_first(app_on: AppOn) -> None:
    engine = journey(without=("876a",))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("8 jobs")(pilot)
        await pilot.press("down", "space", "space")
        await until_shown(pilot, "2 marked")
        await pilot.press("C")
        await until_shown(pilot, "2 jobs side by side")
        text = screen_text(pilot)
        assert text.index("ASKED DIFFERENTLY") < text.index("RESULTS") < text.index("ASKED THE SAME")
        differing = text[text.index("ASKED DIFFERENTLY") : text.index("RESULTS")]
        assert all(method in differing for method in ("structural", "l1_unstructured"))
        assert "amount" not in differing
        assert all(parameters in text for parameters in ("24,643", "96,124"))


async def test_one_job_cannot_be_compared(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("space", "C")
        await pilot.pause(0.1)
        assert "side by side" not in screen_text(pilot)


async def test_remove_asks_first(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("D")
        await until_shown(pilot, "Remove benchmark digits_cnn (job 876a) with the log")
        await pilot.press("n")
        await until_shown(pilot, "9 jobs")
        assert engine.removed == []
        await pilot.press("delete", "y")
        await until(pilot, lambda: engine.removed == ["876a"])
        await until_shown(pilot, "8 jobs")


async def test_marked_jobs_are_removed_but_for_those_that_run(app_on: AppOn) -> None:
    engine = journey(a_job("beef", created=EPOCH + 3600))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("10 jobs")(pilot)
        await pilot.press("space", "space", "space", "D")
        await until_shown(pilot, "Remove 2 jobs")
        await pilot.press("y")
        await until(pilot, lambda: engine.removed == ["876a", "3ff3"])


async def test_an_engine_that_refuses_to_remove_is_heard(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40), notifications=True) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("D")
        await until_shown(pilot, "Remove benchmark")
        engine.refuse = ExplorerError("job 876a is read by another", "try again")
        await pilot.press("y")
        await until_shown(pilot, "job 876a is read by another")
        assert "9 jobs" in screen_text(pilot)


async def test_resume_is_offered_where_there_is_a_checkpoint(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(160, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("R")
        await pilot.pause(0.1)
        assert engine.commands == []
        await pilot.press("end")
        await until_shown(pilot, "R resume")
        await pilot.press("R")
        await until(pilot, lambda: engine.commands == [("c0de", "resume")])


async def test_the_filter_narrows_live_and_can_be_cleared(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("slash", *"kind:prune")
        await until_shown(pilot, "2 of 9 jobs")
        await pilot.press("enter")
        await until_shown(pilot, "space mark")
        await pilot.press("slash", "escape")
        await until(pilot, lambda: " of 9 jobs" not in screen_text(pilot))


async def test_a_running_job_moves_in_its_row(app_on: AppOn) -> None:
    engine = journey(a_job("beef", created=EPOCH + 3600))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("10 jobs")(pilot)
        await engine.change("beef", progress=0.42, message="epoch 6 of 12")
        await until_shown(pilot, "42 %  epoch 6 of 12")


async def test_o_opens_the_screen_of_the_kind(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press(*["down"] * 6, "o")
        await until_shown(pilot, "job 81bc · 1 of 3")


async def test_the_spec_is_copied_as_toml(app_on: AppOn) -> None:
    app = app_on(journey())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows("9 jobs")(pilot)
        await pilot.press("y")
        await until(pilot, lambda: 'kind = "benchmark"' in app.clipboard)


def test_words_of_a_filter_must_all_fit() -> None:
    jobs = [a_job("a1", model="digits_cnn", state="done"), a_job("b2", model="my_net", state="failed", headline="NaN")]
    assert [job.id for job in matching(jobs, "")] == ["b2", "a1"]
    assert [job.id for job in matching(jobs, "state:done model:digits")] == ["a1"]
    assert [job.id for job in matching(jobs, "nan")] == ["b2"]
    assert matching(jobs, "state:done nan") == []


@both_sizes
def test_experiments_empty(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(FakeEngine())), terminal_size=size, run_before=shows("No job yet."))


@both_sizes
def test_experiments_filled(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    before = shows("2 marked", "down", "space", "space", "down")
    assert snap_compare(ExplorerApp(connected(journey())), terminal_size=size, run_before=before)


@both_sizes
def test_experiments_compared(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    before = shows("side by side", "down", "down", "space", "space", "C")
    assert snap_compare(ExplorerApp(connected(journey())), terminal_size=size, run_before=before)
