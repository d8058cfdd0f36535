"""Recorded machines on the Hardware screen at both sizes, read by the recordings' own reader."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.hardware import recorded
from explorer.schemas.readings import Inventory
from screens.app import ExplorerApp
from screens.hardware import RecordedRead
from tests.fakes import FakeEngine, connected
from tests.screens.helpers import until_shown
from tests.screens.machines import known

SnapCompare = Callable[..., bool]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "hardware"
both_sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")


def read(target: Path, *names: str) -> Inventory:
    """The machine whose outputs lie in these fixtures, put into the folder `target`."""
    target.mkdir()
    for name in names:
        shutil.copytree(FIXTURES / name, target, dirs_exist_ok=True)
    return recorded.inventory(target)


def snap(compare: SnapCompare, inventory: Inventory, folder: str, size: tuple[int, int], *keys: str) -> bool:
    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "yes  ")
        pilot.app.screen.post_message(RecordedRead(folder, inventory))
        await until_shown(pilot, "recorded: ")
        await pilot.press(*keys)
        await pilot.pause(0.3)

    return compare(ExplorerApp(connected(FakeEngine())), terminal_size=size, run_before=before)


@both_sizes
def test_m4_max(snap_compare: SnapCompare, size: tuple[int, int], tmp_path: Path) -> None:
    assert snap(snap_compare, read(tmp_path / "m4max", "mac-m4max-sequoia"), "/recordings/m4max", size)


@both_sizes
def test_m5_max_neural_engine(snap_compare: SnapCompare, size: tuple[int, int], tmp_path: Path) -> None:
    inventory = read(tmp_path / "m5max", "mac-m5max-macos26")
    assert snap(snap_compare, inventory, "/recordings/m5max", size, "down", "down")


@both_sizes
def test_linux_with_an_nvidia_gpu(snap_compare: SnapCompare, size: tuple[int, int], tmp_path: Path) -> None:
    told = read(tmp_path / "box", "linux-amd-epyc-7451", "nvidia-a100-sxm4-v12", "linux-meminfo-16g")
    asked = {"cuda": known(True), "cuda.version": known("12.8"), "dtypes.cuda": known(["float32", "float16", "bfloat16"])}
    inventory = Inventory(readings=told.readings | asked)
    assert snap(snap_compare, inventory, "/recordings/box", size, "down")


@both_sizes
def test_container(snap_compare: SnapCompare, size: tuple[int, int], tmp_path: Path) -> None:
    names = ("linux-intel-spr", "linux-meminfo-16g", "container-cgroup2-48of96cpu-96gib")
    assert snap(snap_compare, read(tmp_path / "container", *names), "/recordings/container", size)


@both_sizes
def test_virtual_machine_without_mps(snap_compare: SnapCompare, size: tuple[int, int], tmp_path: Path) -> None:
    assert snap(snap_compare, read(tmp_path / "vm", "mac-vm-github-macos26"), "/recordings/vm", size, "down")
