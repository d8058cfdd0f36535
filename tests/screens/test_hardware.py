"""The Hardware screen: readings with state, reason and source; live values only while somebody looks."""

from collections.abc import Callable

from explorer.schemas.readings import Inventory, Reading
from screens.app import ExplorerApp
from screens.hardware_rows import device, grouped_names, said
from screens.widgets.row_list import RowList
from tests.fakes import FakeEngine, a_sample, an_inventory
from tests.screens.helpers import screen_text, until, until_shown

AppOn = Callable[[FakeEngine], ExplorerApp]


async def test_what_is_missing_says_why(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "CUDA               absent     no NVIDIA driver is loaded")
        assert "GPU through MPS    not usable MPS needs macOS" in screen_text(pilot)
        assert "CPU                ok         8 × Cores" in screen_text(pilot)


async def test_the_source_stands_beside_a_reading_when_there_is_room(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "cgroup v2 memory.max")


async def test_arrows_select_and_enter_tells_everything(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "▸ CPU")
        await pilot.press("down", "down", "down")
        await until_shown(pilot, "▸ GPU")
        await until_shown(pilot, "gpu  source /sys/class/drm · no GPU on the PCI bus")
        await pilot.press("up", "up", "up", "enter")
        await until_shown(pilot, "l1d         32.0 KiB")
        await pilot.press("escape", "s")
        await until_shown(pilot, "source      lscpu --json")


async def test_live_values_are_shown_and_a_denied_one_says_so(app_on: AppOn) -> None:
    samples = [a_sample(0, 34.0, 8 * 2**30), a_sample(1, 71.0, None)]
    async with app_on(FakeEngine(samples=samples)).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "CPU  71 %")
        assert "Memory  – not permitted here" in screen_text(pilot)


async def test_memory_is_measured_against_the_limit(app_on: AppOn) -> None:
    async with app_on(FakeEngine(samples=[a_sample(0, 1.0, 8 * 2**30)])).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "Memory  8.00 GiB of 16.0 GiB")


async def test_sampling_stops_when_nobody_looks(app_on: AppOn) -> None:
    engine = FakeEngine(samples=[a_sample(0, 1.0, 1)])
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: engine.hardware_watchers == 1)
        await pilot.press("3")
        await until(pilot, lambda: engine.hardware_watchers == 0)
        await pilot.press("1")
        await until(pilot, lambda: engine.hardware_watchers == 1)


async def test_pending_readings_fill_in_and_the_selection_stays(app_on: AppOn) -> None:
    engine = FakeEngine(inventory=an_inventory(mps__usable=Reading(state="pending", reason="not asked yet")))
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "reading…")
        await pilot.press("down")
        engine.know(an_inventory())
        await until_shown(pilot, "MPS needs macOS")
        assert app.screen.query_one(RowList).selected == "cpu.logical"


def test_unknown_names_are_shown_as_they_are_and_in_their_group() -> None:
    inventory = Inventory(
        readings={
            "fan.speed": Reading(value=1200, unit="rpm"),
            "cpu.cores": Reading(value=8, unit="cores"),
            "torch.threads": Reading(value=8),
            "framework.onnx": Reading(value="1.19"),
        }
    )
    groups = grouped_names(inventory)
    assert groups["MORE"] == {"fan.speed": "fan speed"}
    assert groups["COMPUTE"] == {"cpu.cores": "cpu cores"}
    assert groups["FRAMEWORKS"] == {"torch.threads": "torch threads", "framework.onnx": "onnx"}


def test_details_of_a_part_that_is_not_there_are_folded() -> None:
    absent = Reading(state="absent", reason="no NVIDIA driver")
    folded = Inventory(readings={"cuda": absent, "cuda.version": absent})
    known = Inventory(readings={"cuda": Reading(value=True), "cuda.version": Reading(value="13.0")})
    assert list(grouped_names(folded)["COMPUTE"]) == ["cuda"]
    assert list(grouped_names(known)["COMPUTE"]) == ["cuda", "cuda.version"]


def test_tiers_and_devices_in_words() -> None:
    tiers = [{"name": "Performance", "cores": 12, "threads": 12}, {"name": "Efficiency", "cores": 4, "threads": 4}]
    assert said(Reading(value=tiers)) == "12 × Performance + 4 × Efficiency"
    assert device({"name": "Apple M4 Max", "cores": 40, "memory_bytes": 48 * 2**30}) == "Apple M4 Max 40 cores 48.0 GiB"
    assert said(Reading(state="denied")) == "not read"
