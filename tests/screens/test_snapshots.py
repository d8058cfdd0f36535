"""What the shell, Hardware and Train look like, empty and filled, at both sizes: `pytest --snapshot-update` after looking."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.engine.client import Engine
from explorer.schemas.events import Failure
from explorer.schemas.readings import Inventory, Reading
from screens.app import ExplorerApp
from tests.fakes import EPOCH, FakeEngine, a_job, a_sample, connected
from tests.screens.helpers import until_shown
from tests.screens.scripts import training_events

Before = Callable[[Pilot[Any]], Awaitable[None]]
SnapCompare = Callable[..., bool]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def keys_then(shown: str, *keys: str) -> Before:
    """Press keys once the engine answers, then wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "ok  ")
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
    readings = {
        "host.name": Reading(value="mac-mini", source="gethostname"),
        "chip.name": Reading(value="Apple M4 Max", source="sysctl machdep.cpu.brand_string"),
        "os.name": Reading(value="macOS 15.6", source="sw_vers"),
        "cpu.tiers": Reading(
            value=[{"name": "Performance", "cores": 12, "threads": 12}, {"name": "Efficiency", "cores": 4, "threads": 4}],
            source="sysctl hw.perflevel0.*",
        ),
        "gpu": Reading(value=[{"name": "Apple M4 Max", "cores": 40, "memory_bytes": None}], source="ioreg AGXAccelerator"),
        "mps.usable": Reading(value=True, source="a 1 KiB tensor in a child"),
        "cuda": Reading(state="unsupported", source="torch", reason="CUDA does not exist on macOS"),
        "ane.cores": Reading(value=16, unit="cores", source="ioreg H11ANEIn"),
        "ane.tops": Reading(value=38, unit="TOPS", source="Apple, May 2024", state="estimated", reason="published, not measured"),
        "tpu": Reading(state="absent", source="PCI", reason="no TPU on the PCI bus"),
        "memory.total_bytes": Reading(value=64 * 2**30, unit="B", source="sysctl hw.memsize"),
        "framework.torch": Reading(value="2.13.0", source="metadata of torch"),
        "framework.coremltools": Reading(value="9.0", source="metadata of coremltools"),
    }
    samples = [a_sample(second, 20 + second % 30, 30 * 2**30) for second in range(150)]
    return FakeEngine(inventory=Inventory(readings=readings), samples=samples)


def snap(snap_compare: SnapCompare, engine: FakeEngine, size: tuple[int, int], before: Before) -> bool:
    return snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=before)


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
    assert snap(snap_compare, live_samples(), size, keys_then("▸ GPU through MPS", *["down"] * 4))


@both_sizes
def test_hardware_of_a_mac(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, a_mac(), size, keys_then("12 × Performance + 4 × Efficiency"))


@both_sizes
def test_details_of_a_reading(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("l1d", "enter"))


@both_sizes
def test_train_empty(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, keys_then("Press n for a new one", "3"))


@both_sizes
def test_train_running(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, training(), size, keys_then("step 1,840 / 4,000", "3"))


@both_sizes
def test_train_failed(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    failure = Failure(
        message="NaN in loss at step 1840",
        remedy="lower learning_rate, or set clip_grad_norm; the last checkpoint is finite",
        log_tail=["epoch 6/12", "loss 3.1e4", "loss nan"],
    )
    job = a_job("7f3a", state="failed", ended=EPOCH + 46, resumable=True, headline="NaN in loss at step 1840")
    engine = FakeEngine([job], events={"7f3a": [*training_events(steps=4000, upto=1840), failure]})
    assert snap(snap_compare, engine, size, keys_then("✗ failed", "3"))


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
    assert snap(snap_compare, FakeEngine(), size, keys_then("Leave the program", "question_mark"))


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
