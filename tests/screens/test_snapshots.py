"""What the shell, Hardware and forms look like, empty and filled, at both sizes: `pytest --snapshot-update` after looking."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.engine.client import Engine
from screens.app import ExplorerApp
from tests.fakes import EPOCH, FakeEngine, a_job, a_sample, connected
from tests.screens.helpers import until, until_shown
from tests.screens.machines import a_busy_second, a_full_mac, measured_events, measured_job
from tests.screens.scripts import training_events

Before = Callable[[Pilot[Any]], Awaitable[None]]
SnapCompare = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def keys_then(shown: str, *keys: str) -> Before:
    """Press keys once the engine answers, then wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "yes  ")
        await pilot.press(*keys)
        await until_shown(pilot, shown)
        await pilot.pause(0.3)

    return before


def live_samples() -> FakeEngine:
    samples = [
        a_sample(second, 30 + 25 * ((second // 9) % 3) + second % 5, (6 * 2**30) + second * 2**25) for second in range(150)
    ]
    return FakeEngine([a_job("7f3a")], samples=samples)


def training(**job: Any) -> FakeEngine:
    return FakeEngine([a_job("7f3a", progress=0.46, **job)], events={"7f3a": training_events(steps=4000, upto=1840)})


def a_mac() -> FakeEngine:
    samples = [a_busy_second(second) for second in range(150)]
    return FakeEngine([measured_job()], events={"c3f1": measured_events()}, inventory=a_full_mac(), samples=samples)


def snap(snap_compare: SnapCompare, engine: FakeEngine, size: tuple[int, int], before: Before) -> bool:
    """The picture after `before`, which starts when the first screen has every live sample."""

    async def settled(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: engine.samples_sent)
        await pilot.pause(0.1)
        await before(pilot)

    return snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=settled)


@both_sizes
def test_connecting(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def never() -> Engine:
        await asyncio.sleep(3600)
        raise AssertionError

    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "connecting to the engine…")

    assert snap_compare(ExplorerApp(never), terminal_size=size, run_before=before)


@both_sizes
def test_hardware_before_the_first_sample(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("CUDA"))


@both_sizes
def test_hardware_live(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, live_samples(), size, keys_then("▸ Memory", *["down"] * 5))


@both_sizes
def test_hardware_of_a_mac(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, a_mac(), size, keys_then("2.90 TFLOP/s f32"))


@both_sizes
def test_neural_engine(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, a_mac(), size, keys_then("▸ Neural Engine", "down", "down"))


@both_sizes
def test_roofline(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("r roofline")(pilot)
        await pilot.press("down", "r")
        await until_shown(pilot, "◆ operations per byte")
        await pilot.pause(0.3)

    assert snap(snap_compare, a_mac(), size, before)


@both_sizes
def test_measuring(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = FakeEngine([a_job("c3f1", "ceilings", model="this machine", progress=0.4, message="float32 on cpu")])
    assert snap(snap_compare, engine, size, keys_then("40 %  float32 on cpu"))


@both_sizes
def test_details_of_a_part(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, a_mac(), size, keys_then("source sysctl hw.perflevel0.*", "enter"))


@both_sizes
def test_form_of_a_new_training(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("passes over the training data", "3", "n", "down", "down"))


@both_sizes
def test_form_with_a_wrong_value(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    keys = ("3", "n", "down", "down", "ctrl+u", "0")
    assert snap(snap_compare, FakeEngine(), size, keys_then("✗ epochs", *keys))


@both_sizes
def test_jobs(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    jobs = [
        a_job("7f3a", progress=0.46, message="epoch 6/12"),
        a_job("81bc", "convert", progress=None, message="exporting", created=EPOCH + 120),
        a_job("9d02", "quantize", state="queued", created=EPOCH + 130),
    ]
    assert snap(snap_compare, FakeEngine(jobs), size, keys_then("Jobs that run or wait", "j"))


@both_sizes
def test_keys(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("Go to Hardware", "question_mark"))


@both_sizes
def test_question(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await keys_then("step 1,840 / 4,000", "3")(pilot)
        await pilot.press("ctrl+x")
        await until_shown(pilot, "Stop the training")

    assert snap(snap_compare, training(), size, before)


@pytest.mark.parametrize("size", [(59, 16), (20, 5)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_too_small(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "60 × 16")

    assert snap(snap_compare, FakeEngine(), size, before)
