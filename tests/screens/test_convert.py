"""Convert: the form from the latest training, the way live, the proof and the failure."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.schemas.events import Failure, Log, Progress
from explorer.schemas.specs import ConvertSpec, InspectSpec
from screens.app import ExplorerApp
from tests.fakes import EPOCH, FakeEngine, a_job, connected
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.journey import a_described_file, journey

AppOn = Callable[[FakeEngine], ExplorerApp]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
RUNNING = a_job("beef", "convert", created=EPOCH + 3600)
FAILED = Failure(
    message="the model has an operation that ONNX lacks: aten::foo",
    remedy="replace it in the factory, or raise opset",
    cause="UnsupportedOperator",
    log_tail=["torch.onnx export failed after 1.2 s"],
)


def shows(text: str) -> Callable[[Pilot[Any]], Any]:
    """Go to Convert and wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press("4")
        await until_shown(pilot, text)
        await pilot.pause(0.3)

    return before


def running() -> FakeEngine:
    """A conversion to Core ML on its way."""
    engine = journey(RUNNING)
    engine._specs["beef"] = ConvertSpec(source="job:44c4", target="coreml")
    engine._events["beef"] = [
        Progress(seq=1, done=1, total=7, unit="steps", message="torch.export, open batch"),
        Log(seq=2, text="load 0.0 s"),
        Log(seq=3, text="run the source 0.1 s"),
    ]
    return engine


def failed() -> FakeEngine:
    """A conversion that met an operation it does not know."""
    job = RUNNING.model_copy(update={"state": "failed", "headline": FAILED.message, "ended": EPOCH + 3603})
    engine = journey(job)
    engine._specs["beef"] = ConvertSpec(source="nets.py:odd_net")
    engine._events["beef"] = [Log(seq=1, text="load 0.0 s"), FAILED.model_copy(update={"seq": 2})]
    return engine


async def test_the_form_starts_from_the_latest_model_and_submits(app_on: AppOn) -> None:
    engine = journey(without=("44c4", "3ff3", "2046"))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("PROOF passed")(pilot)
        await pilot.press("n")
        await until_shown(pilot, "job:7f3a")
        await pilot.press("down", "right", "ctrl+r")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="job:7f3a", target="coreml")])
        await until_shown(pilot, "waits for a free slot")


async def test_without_a_training_the_form_asks_for_the_source(app_on: AppOn) -> None:
    engine = FakeEngine()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("Press n for a new one")(pilot)
        await pilot.press("n")
        await until_shown(pilot, "New conversion")
        await pilot.press("enter")
        await until_shown(pilot, "✗")
        assert engine.submitted == []
        await pilot.press(*"net")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="net")])


async def test_the_way_is_followed_live(app_on: AppOn) -> None:
    engine = running()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("▸ torch.export, open batch")(pilot)
        progress = Progress(done=3, total=7, message="convert in float32")
        await engine.say("beef", Log(text="torch.export, open batch 1.8 s"), progress)
        await until_shown(pilot, "✓ torch.export, open batch 1.8 s")
        await until_shown(pilot, "step 4 of about 7: convert in float32")
        await pilot.press("ctrl+x")
        await until_shown(pilot, "Stop convert of digits_cnn (job beef)?")
        await pilot.press("y")
        await until(pilot, lambda: engine.commands == [("beef", "cancel")])


async def test_a_core_ml_proof_says_what_it_does_not_prove(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=(120, 40)) as pilot:
        await shows("ONNX Runtime")(pilot)
        assert "not run on Core ML" not in screen_text(pilot)
        await pilot.press("left")
        await until_shown(pilot, "reference check, not run on Core ML")
        text = screen_text(pilot)
        assert all(figure in text for figure in ("3.80e-6", "138 dB", "100.0 %"))
        assert "/home/user/.local/state/explorer/jobs/24a2/artifacts/model.mlpackage" in text
        await pilot.press("right")
        await until_shown(pilot, "job 3ff3 · 3 of 3")


async def test_a_failed_check_is_not_called_passed(app_on: AppOn) -> None:
    from explorer.schemas.events import Result
    from tests.screens.journey import TO_ONNX

    engine = failed()
    wrong = TO_ONNX.checks[0].model_copy(update={"passed": False, "first_difference": "3e-2 at linear_7"})
    result = TO_ONNX.model_copy(update={"passed": False, "checks": [wrong]})
    engine._events["beef"] = [Result(seq=1, result=result.model_dump(mode="json"))]
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("✗ failed")(pilot)
        assert "first difference  3e-2 at linear_7" in screen_text(pilot)
        assert "passed" not in screen_text(pilot)


async def test_the_values_of_a_conversion_can_be_changed_and_run_again(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("PROOF passed")(pilot)
        await pilot.press("left")
        await until_shown(pilot, "not run on Core ML")
        await until_shown(pilot, "coreml")
        await pilot.press("e")
        await until_shown(pilot, "New conversion")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="job:7f3a", target="coreml")])


async def test_the_result_is_looked_into(app_on: AppOn) -> None:
    engine = journey(answers={"job:3ff3": a_described_file("job:3ff3")})
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await shows("PROOF passed")(pilot)
        await pilot.press("i")
        await until_shown(pilot, "encoder")
        assert engine.asked == [InspectSpec(source="job:3ff3")]


async def test_a_refused_submission_is_said_and_the_screen_goes_on(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=(120, 40), notifications=True) as pilot:
        await shows("PROOF passed")(pilot)
        await pilot.press("n")
        await until_shown(pilot, "New conversion")
        engine.refuse = ExplorerError("the disk is full", "remove old jobs")
        await pilot.press("ctrl+r")
        await until_shown(pilot, "the disk is full")
        assert "PROOF passed" in screen_text(pilot)


@both_sizes
def test_convert_empty(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(FakeEngine())), terminal_size=size, run_before=shows("Press n for a new one"))


@both_sizes
def test_convert_core_ml(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    engine = journey(without=("44c4", "3ff3"))
    assert snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=shows("not run on Core ML"))


@both_sizes
def test_convert_running(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(running())), terminal_size=size, run_before=shows("▸ torch.export"))


@both_sizes
def test_convert_failed(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(failed())), terminal_size=size, run_before=shows("WHY IT FAILED"))
