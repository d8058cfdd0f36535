"""Lab: variants by lineage with real sizes, forms with the right source, and speeds with their null."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.schemas.events import Result
from explorer.schemas.specs import BenchmarkSpec, ConvertSpec, PruneSpec, QuantizeSpec
from screens.app import ExplorerApp
from tests.fakes import EPOCH, FakeEngine, a_job, connected
from tests.screens.helpers import screen_text, showing, until, until_shown
from tests.screens.journey import BENCHMARK, journey
from tests.screens.machines import measured_events, measured_job

AppOn = Callable[[FakeEngine], ExplorerApp]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


shows = partial(showing, "5", "pruned 50%")


def row_of(pilot: Pilot[Any], text: str) -> str:
    """The first row of the screen that holds a text."""
    return next(line for line in screen_text(pilot).splitlines() if text in line)


async def test_sizes_are_against_the_first_file_of_the_format(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        assert "110 KB  0.28  99.44 %" in row_of(pilot, " int8 ")
        assert "2.32 [2.32, 2.33] faster" in row_of(pilot, "112 KB")
        assert "0.28" in row_of(pilot, "112 KB")
        assert "209 KB  1.00" in row_of(pilot, "Core ML float16")
        assert "null ratio 1.00x [1.00, 1.00] · ONNX Runtime, 1 thread, batch 1, 300 interleaved rounds" in screen_text(pilot)


async def test_unstructured_pruning_is_shown_as_no_smaller(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("no smaller and no faster", "down", "down", "down", "down")(pilot)
        assert "388 KB  1.00" in row_of(pilot, "▸")
        assert "388 KB, was 388 KB" in screen_text(pilot)


async def test_quantize_takes_the_converted_model_of_the_selected_family(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        await pilot.press("down", "z")
        await until_shown(pilot, "Quantize")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted == [QuantizeSpec(source="job:81bc")])
        await until_shown(pilot, "quantize 81bc queued")


async def test_prune_and_convert_take_the_trained_model(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        await pilot.press("p")
        await until_shown(pilot, "Prune")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted == [PruneSpec(source="job:7f3a")])
        await until_shown(pilot, "prune 7f3a queued")
        await pilot.press("c")
        await until_shown(pilot, "New conversion")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted[1:] == [ConvertSpec(source="job:7f3a")])


async def test_the_marked_files_are_compared_in_order(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        await pilot.press("space", "down", "space", "space")
        await until(pilot, lambda: screen_text(pilot).count("●") == 2)
        await pilot.press("b", "ctrl+r")
        wanted = BenchmarkSpec(models=["job:81bc", "job:9d02"], names=["base", "int8"])
        await until(pilot, lambda: engine.submitted == [wanted])


async def test_without_marks_all_onnx_files_of_the_family_are_compared(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        await pilot.press("b", "ctrl+r")
        wanted = BenchmarkSpec(models=["job:81bc", "job:9d02", "job:3ff3"], names=["base", "int8", "pruned 50%"])
        await until(pilot, lambda: engine.submitted == [wanted])


async def test_progress_is_live_and_a_failure_stays_to_be_read(app_on: AppOn) -> None:
    engine = journey(a_job("beef", "quantize", created=EPOCH + 3600))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("▶ quantize digits_cnn running")(pilot)
        await engine.change("beef", progress=0.5, message="checking against the source")
        await until_shown(pilot, "50 %  checking against the source")
        await engine.change("beef", state="failed", headline="accuracy falls by 3.1 points, 1.0 are allowed")
        await until_shown(pilot, "✗ quantize digits_cnn failed  accuracy falls by 3.1 points")


async def test_a_finished_job_becomes_a_row(app_on: AppOn) -> None:
    engine = journey(without=("9d02",))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        assert " int8 " not in screen_text(pilot)
        full = journey()
        engine._events["9d02"], engine._specs["9d02"] = full._events["9d02"], full._specs["9d02"]
        engine._jobs["9d02"] = full._jobs["9d02"]
        await engine.change("9d02", state="done")
        await until_shown(pilot, " int8 ")


@both_sizes
def test_lab_empty(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(FakeEngine())), terminal_size=size, run_before=shows("3 then n trains one"))


@both_sizes
def test_lab_filled(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    running = a_job("beef", "prune", created=EPOCH + 3600, progress=0.4, message="epoch 3 of 6")
    before = shows("5 of 5", "down", "space", "space", "up")
    assert snap_compare(ExplorerApp(connected(journey(running))), terminal_size=size, run_before=before)


@both_sizes
def test_lab_details(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    before = shows("accuracy within 1 pt", "down", "down", "enter")
    assert snap_compare(ExplorerApp(connected(journey())), terminal_size=size, run_before=before)


async def test_a_variant_says_how_close_it_comes_to_the_measured_limit(app_on: AppOn) -> None:
    variants = [item.model_copy(update={"flops": 2_900_000}) for item in BENCHMARK.variants]
    compared = BENCHMARK.model_copy(update={"variants": variants})
    engine = journey(measured_job())
    await engine.say("c3f1", *measured_events())
    await engine.say("876a", Result(result=compared.model_dump(mode="json")))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("pruned 50%")(pilot)
        await pilot.press("down")
        await until_shown(pilot, "70.4 GFLOP/s, 2.4 % of the measured float32 rate of 12 threads")
        await pilot.press("down")
        await until_shown(pilot, "% of the measured int8 rate of 12 threads")
