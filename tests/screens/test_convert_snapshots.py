"""What the Convert screen and its pages look like at both sizes: `pytest --snapshot-update` after looking."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from screens.app import ExplorerApp
from tests.fakes import FakeEngine, connected
from tests.screens import conversions
from tests.screens.helpers import until, until_shown

SnapCompare = Callable[..., bool]
both_sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")


def shows(text: str, *keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Go to Convert, press keys once a conversion stands there, then wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press("4")
        await until_shown(pilot, "ASKED" if keys else text)
        await pilot.press(*keys)
        await until_shown(pilot, text)
        await pilot.pause(0.3)

    return before


def snap(snap_compare: SnapCompare, engine: FakeEngine, size: tuple[int, int], text: str, *keys: str) -> bool:
    return snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=shows(text, *keys))


@both_sizes
def test_empty(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, "Press n for a new one")


@both_sizes
def test_form_for_core_ml(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.CORE_ML), size, "deployment target", "e")


@both_sizes
def test_form_for_onnx(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.ONNX), size, "dynamic batch", "e")


@both_sizes
def test_ladder_running(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.running(), size, "▸ convert in float32")


@both_sizes
def test_proof_of_core_ml(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.CORE_ML), size, "✓ passed")


@both_sizes
def test_proof_of_onnx(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.ONNX), size, "✓ passed")


@both_sizes
def test_proof_with_a_difference(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.differing(), size, "PROOF FAILED")


@both_sizes
def test_refused(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.refused(), size, "REFUSED")


@both_sizes
def test_losses_of_float16(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.LOSSY), size, "f shows all")


@both_sizes
def test_float16_report(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.LOSSY), size, "float16: 3 values break", "f")


@both_sizes
def test_hints(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.resulting(conversions.CORE_ML), size, "Hints for the Neural Engine", "h")


@both_sizes
def test_messages(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, conversions.differing(), size, "own words", "m")
