"""What the Convert screen and its pages look like at both sizes: `pytest --snapshot-update` after looking."""

from collections.abc import Callable
from functools import partial

import pytest

from screens.app import ExplorerApp
from tests.fakes import FakeEngine, connected
from tests.screens import conversions
from tests.screens.helpers import showing

SnapCompare = Callable[..., bool]
both_sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")


shows = partial(showing, "4", "ASKED")


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
