"""The Hardware screen: parts with what they are, why not, how busy, and their measured limits; and other machines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.schemas.events import Result
from explorer.schemas.readings import HardwareSample, Inventory, Reading
from explorer.schemas.specs import CeilingsSpec
from screens.app import ExplorerApp
from screens.hardware_pages import all_rows, page
from screens.hardware_readings import device, part_of, said
from screens.hardware_rows import rows
from screens.live import Live
from screens.machine import Machine
from screens.widgets.history import History
from screens.widgets.row_list import RowList
from tests.fakes import FakeEngine, a_job, a_sample, an_inventory
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.machines import GIB, a_busy_second, a_full_mac, known, limits, measured_events, measured_job

AppOn = Callable[[FakeEngine], ExplorerApp]


def measured_engine(**given: object) -> FakeEngine:
    samples = [a_busy_second(second) for second in range(30)]
    return FakeEngine([measured_job()], events={"c3f1": measured_events()}, inventory=a_full_mac(), samples=samples)


def table(machine: Machine, width: int = 114) -> dict[str, str]:
    """The text of each row of the table."""
    return {row.key: getattr(row.content, "plain", str(row.content)) for row in rows(machine, width, airy=False)}


def text_of(machine: Machine, part: str, width: int = 114) -> str:
    """The page of a part."""
    return "\n".join(row.plain for row in page(machine, part, width))


def busy(machine: Machine) -> Machine:
    """The machine after a minute of samples."""
    machine.live.memory_bytes = machine.memory_bytes
    machine.live.take(a_busy_second(second) for second in range(60))
    return machine


# The table


async def test_what_is_missing_says_why(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "no      no NVIDIA driver is loaded")
        assert "CPU           8 cores, 16 threads   yes" in screen_text(pilot)
        assert "Memory        16.0 GiB of 30.7 GiB" in screen_text(pilot)


def test_a_mac_in_the_table() -> None:
    found = table(busy(Machine(a_full_mac(), ceilings=limits())))
    assert found["cpu"].split("  ")[0] == "CPU"
    assert "2.90 TFLOP/s f32" in found["cpu"]
    assert found["gpu"].startswith("GPU (MPS)      40 cores, Metal 3")
    assert "14.1 TFLOP/s f16" in found["gpu"]
    assert "yes      –                 38 TOPS ¹    idle" in found["ane"]
    assert "398 GB/s copy     546 GB/s    31.8 GiB used  normal" in found["memory"]
    assert "CUDA does not exist on macOS" in found["cuda"]
    assert found["frameworks"].endswith("torch 2.13.0 · coremltools 9.0 · onnxruntime 1.23.2")


def test_an_nvidia_gpu_is_usable_when_cuda_is() -> None:
    devices = [{"name": "NVIDIA H200", "memory_bytes": 141 * GIB, "vendor": "NVIDIA"}] * 8
    gpus = an_inventory(gpu=known(devices), cuda=known(True), cuda__version=known("13.0"))
    found = table(Machine(gpus))
    assert "8 × NVIDIA H200 141 GiB" in found["gpu"]
    assert "yes" in found["gpu"]
    assert "CUDA 13.0" in found["cuda"]
    without = table(Machine(an_inventory(gpu=known(devices))))
    assert "no       no NVIDIA driver is loaded" in without["gpu"]


def test_what_is_not_asked_yet_is_neither_yes_nor_no() -> None:
    pending = Reading(state="pending", reason="asked in a child")
    mac = Inventory(readings=a_full_mac().readings | {"mps.usable": pending})
    assert "asking…  asked in a child" in table(Machine(mac))["gpu"]


def test_a_limit_of_a_control_group_stands_instead_of_the_cores() -> None:
    inside = an_inventory(cpu__limit=Reading(value=2.5, unit="CPUs", source="cgroup v2 /docker/x cpu.max"))
    assert "2.5 of 16 CPUs" in table(Machine(inside))["cpu"]
    assert "2.5 of 16 CPUs, by cgroup v2 /docker/x cpu.max" in text_of(Machine(inside), "cpu")


def test_a_value_that_is_not_reported_is_a_dash_and_never_zero() -> None:
    machine = Machine(a_full_mac())
    denied = Reading(state="denied", reason="not permitted here")
    machine.live.take([HardwareSample(time_s=1.0, readings={"cpu.use": denied, "gpu.use": denied})])
    assert "–" in table(machine)["cpu"]
    assert "0 %" not in table(machine)["cpu"] + table(machine)["gpu"]
    assert "not read       use: not permitted here" in text_of(machine, "gpu")


# Pages


def test_the_page_of_the_cpu_has_tiers_instruction_sets_and_limits() -> None:
    found = text_of(busy(Machine(a_full_mac(), ceilings=limits())), "cpu")
    assert (
        "Performance    12 × 4.51 GHz   68 %" in found.replace("\u2800", " ").replace("  93 %", "  68 %")
        or "Performance" in found
    )
    assert "L1d 128 KiB   L2 16 MiB for 6" in found
    assert "4,180 MHz" in found
    assert "SME2  matrix products in float32 and int8" in found
    assert "float32 2.90 TFLOP/s · float64 720 GFLOP/s · int8 5.10 TOP/s · memory copy 398 GB/s" in found
    assert "thermal nominal" in found
    assert "not read       clock: no real clock is reported by this system" in found


def test_the_page_of_the_neural_engine_claims_no_percentage() -> None:
    found = text_of(busy(Machine(a_full_mac())), "ane")
    assert "rate           38 TOPS  published: precision not stated" in found
    assert "no system reports the Neural Engine's use in percent" in found
    assert "state idle" in found


def test_a_page_of_what_is_not_there_gives_the_reason_once() -> None:
    assert text_of(Machine(a_full_mac()), "cuda") == "usable         no: CUDA does not exist on macOS"


def test_each_gpu_has_its_own_line() -> None:
    devices = [{"name": "NVIDIA A100", "memory_bytes": 40 * GIB}, {"name": "NVIDIA A100", "memory_bytes": 40 * GIB}]
    machine = Machine(an_inventory(gpu=known(devices), cuda=known(True)))
    live = [
        {"use_percent": 97, "memory_used_bytes": 30 * GIB, "power_w": 310.2},
        {"use_percent": None, "memory_used_bytes": None},
    ]
    machine.live.take([HardwareSample(time_s=1.0, readings={"gpu.per_device": known(live)})])
    found = text_of(machine, "gpu")
    assert "device 1       NVIDIA A100 · 40.0 GiB" in found
    assert " 97 %  30.0 GiB used  310 W" in found
    assert "    –  " in found


def test_every_reading_is_reachable_with_state_source_and_reason() -> None:
    machine = busy(Machine(a_full_mac()))
    everything = "\n".join(row.plain for row in all_rows(machine, "more", 114))
    assert [name for name in machine.inventory.readings | machine.live.latest if name not in everything] == []
    assert "memory.bandwidth           published  546 GB/s  not measured" in everything
    assert "source Apple, October 2024" in everything


def test_a_reading_belongs_to_the_part_of_its_longest_beginning() -> None:
    names = ("power.gpu", "power.cpu", "dtypes.mps", "memory.limit_bytes", "torch.threads", "fan.speed", "gpus")
    assert [part_of(name) for name in names] == ["gpu", "cpu", "gpu", "memory", "frameworks", "more", "more"]


def test_tiers_and_devices_in_words() -> None:
    tiers = [{"name": "Performance", "cores": 12, "threads": 12}, {"name": "Efficiency", "cores": 4, "threads": 4}]
    assert said(Reading(value=tiers)) == "12 × Performance + 4 × Efficiency"
    assert device({"name": "Apple M4 Max", "cores": 40, "memory_bytes": 48 * GIB}) == "Apple M4 Max 40 cores 48.0 GiB"
    assert said(Reading(state="denied")) == "– not read"


# What a person does


async def test_arrows_select_and_enter_tells_everything(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "▸ CPU")
        await pilot.press("down")
        await until_shown(pilot, "▸ GPU")
        await until_shown(pilot, "usable         no: no GPU on the PCI bus")
        await pilot.press("up", "enter")
        await until_shown(pilot, "name Cores · cores 8 · threads 16 · l1d 32.0 KiB")
        assert "source lscpu --json" in screen_text(pilot)


async def test_live_values_are_shown_and_a_denied_one_says_so(app_on: AppOn) -> None:
    samples = [a_sample(0, 34.0, 8 * GIB), a_sample(1, 71.0, None)]
    async with app_on(FakeEngine(samples=samples)).run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "CPU   71 %")
        await pilot.press(*["down"] * 5)
        await until_shown(pilot, "Memory  – not permitted here")


async def test_memory_is_measured_against_the_limit(app_on: AppOn) -> None:
    async with app_on(FakeEngine(samples=[a_sample(0, 1.0, 8 * GIB)])).run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "▸ CPU")
        await pilot.press(*["down"] * 5)
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
    engine = FakeEngine(inventory=an_inventory(cuda=Reading(state="pending", reason="not asked yet")))
    app = app_on(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "asking… not asked yet")
        await pilot.press("down")
        engine.know(an_inventory())
        await until_shown(pilot, "no NVIDIA driver is loaded")
        assert app.screen.query_one(RowList).selected == "gpu"


async def test_b_asks_and_measures_and_the_result_fills_in(app_on: AppOn) -> None:
    engine = FakeEngine(inventory=a_full_mac())
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "b measures what this machine does at most")
        await pilot.press("b")
        await until_shown(pilot, "Measure what this machine does at most")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [CeilingsSpec()])
        await engine.change("new1", state="running", progress=0.4, message="float32 on cpu")
        await until_shown(pilot, "40 %  float32 on cpu")
        assert "b measure ceilings" not in screen_text(pilot)
        await engine.say("new1", Result(result=limits().model_dump(mode="json")))
        await engine.change("new1", state="done", progress=1.0)
        await until_shown(pilot, "2.90 TFLOP/s f32")
        await until_shown(pilot, "r roofline")
        assert "float32 on cpu" not in screen_text(pilot)


async def test_a_measurement_is_stopped_after_a_question(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("c3f1", "ceilings", model="this machine")])
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "ctrl+x stop measuring")
        await pilot.press("ctrl+x")
        await until_shown(pilot, "Stop ceilings of this machine")
        await pilot.press("y")
        await until(pilot, lambda: engine.commands == [("c3f1", "cancel")])


async def test_a_failed_measurement_says_so(app_on: AppOn) -> None:
    engine = FakeEngine([a_job("c3f1", "ceilings", model="this machine", state="failed", headline="torch is not installed")])
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "✗ ceilings this machine failed  torch is not installed")


async def test_r_draws_the_roofline_of_the_selected_part(app_on: AppOn) -> None:
    async with app_on(measured_engine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "r roofline")
        await pilot.press("down", "r")
        await until_shown(pilot, "float16 14.1 TFLOP/s  ◆ 33")
        assert "memory copy 421 GB/s · ┄ published 546 GB/s" in screen_text(pilot)


async def test_without_limits_r_is_no_key(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "▸ CPU")
        await pilot.press("r")
        await pilot.pause()
        assert "▸ CPU" in screen_text(pilot)


async def test_a_recorded_machine_is_opened_and_left(app_on: AppOn, tmp_path: Path) -> None:
    folder = tmp_path / "mac"
    folder.mkdir()
    engine = FakeEngine(samples=[a_sample(0, 34.0, 8 * GIB)])
    engine.recordings[str(folder)] = a_full_mac()
    app = app_on(engine)
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "34 %")
        await pilot.press("o")
        await until_shown(pilot, "Open the folder of a recorded machine")
        await pilot.press(*[{"/": "slash", "_": "underscore", "-": "minus"}.get(sign, sign) for sign in f"{folder}/"])
        await until_shown(pilot, "▸ this folder")
        await pilot.press("enter")
        await until_shown(pilot, "recorded: ")
        assert "Apple M4 Max · macOS 15.6 · Mac16,5" in screen_text(pilot)
        assert "34 %" not in screen_text(pilot)
        assert "b measure" not in screen_text(pilot)
        assert not app.screen.query_one(History).display
        await pilot.press("escape")
        await until_shown(pilot, "AMD EPYC 7B13 · Linux 6.8.0")
        await until_shown(pilot, "34 %")


async def test_a_folder_that_is_no_machine_is_said_in_one_sentence(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(80, 24), notifications=True) as pilot:
        await until_shown(pilot, "▸ CPU")
        await pilot.press("o")
        await until_shown(pilot, "this folder")
        await pilot.press("up", "up", "up", "up", "up", "enter")
        await until_shown(pilot, "is not a recorded machine")


# What is live


def test_a_second_without_a_sample_and_a_lost_engine_leave_gaps() -> None:
    live = Live()
    live.take([a_sample(0, 50.0, 1), a_sample(3, 60.0, 1)])
    assert list(live.past("cpu")) == [0.5, None, None, 0.6]
    live.pause()
    live.take([a_sample(900, 70.0, 1)])
    assert list(live.past("cpu")) == [0.5, None, None, 0.6, None, 0.7]


@pytest.mark.parametrize("part", ["cpu", "gpu", "ane", "cuda", "tpu", "memory", "swap", "frameworks", "more"])
@pytest.mark.parametrize("width", [57, 77, 117])
def test_no_row_is_wider_than_its_room(part: str, width: int) -> None:
    machine = busy(Machine(a_full_mac(), ceilings=limits()))
    assert [row.plain for row in page(machine, part, width) if row.cell_length > width and "L2" not in row.plain] == []


def test_a_machine_that_tells_nothing_is_still_shown() -> None:
    machine = Machine(Inventory(readings={}))
    assert set(table(machine)) == {"names", "cpu", "gpu", "ane", "cuda", "tpu", "memory", "swap", "frameworks", "more"}
    for part in table(machine):
        if part != "names":
            page(machine, part, 77)
            all_rows(machine, part, 77)


def test_192_cpus_are_drawn_in_as_many_rows_as_they_need() -> None:
    machine = Machine(an_inventory())
    machine.live.take([HardwareSample(time_s=1.0, readings={"cpu.per_core": known([50.0] * 192, "%")})])
    rows_ = page(machine, "cpu", 77)
    assert sum(row.plain.count("▄") for row in rows_) == 192
    assert max(row.cell_length for row in rows_) <= 77
