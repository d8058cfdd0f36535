import itertools
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from explorer.errors import Cancelled, ExplorerError
from explorer.hardware import inventory
from explorer.inference import ceilings, ceilings_devices, ceilings_matmul, ceilings_memory
from explorer.inference.ceilings_devices import Device, host_budget_bytes, usable
from explorer.inference.ceilings_matmul import fastest_size
from explorer.inference.ceilings_timing import SAMPLES_AT_LEAST, Stopwatch
from explorer.reporter import NO_ORDERS, Orders, QuietReporter
from explorer.schemas.readings import Inventory, Reading
from explorer.schemas.results import Ceiling, CeilingsResult
from explorer.schemas.specs import CeilingsSpec

QUICK = CeilingsSpec(devices="cpu", seconds=0.05, threads=1)
MIB = 1 << 20


def facts(available_bytes: int, **others: object) -> Inventory:
    values = {"memory.available_bytes": available_bytes, **others}
    return Inventory(readings={name: Reading(value=value) for name, value in values.items()})


def device(budget_bytes: int = 64 * MIB, *, has_own_memory: bool = False) -> Device:
    return Device("cpu", budget_bytes, budget_bytes, lambda: None, lambda: None, has_own_memory=has_own_memory)


def watch() -> Stopwatch:
    return Stopwatch(lambda: None, 0.02)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 32 MiB free, so that every figure is quick."""
    known = {"cpu.logical": 1 << 20, "chip.name": "Chip 9", "cpu.limit": 1}
    monkeypatch.setattr(inventory, "collect", lambda: facts(32 * MIB, **known))


def measured(result: CeilingsResult) -> dict[str, Ceiling]:
    return {f"{item.dtype} {item.quantity}".strip(): item for item in result.ceilings}


def test_every_figure_of_this_machines_cpu(tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    threads = torch.get_num_threads()
    result = ceilings.run(CeilingsSpec(seconds=0.05, threads=1), report)
    assert torch.get_num_threads() == threads
    on_cpu = {name: item for name, item in measured(result).items() if item.device == "cpu"}
    units = {
        "float32 matmul": "FLOP/s",
        "float16 matmul": "FLOP/s",
        "bfloat16 matmul": "FLOP/s",
        "int8 matmul": "OP/s",
        "bandwidth": "B/s",
        "call_latency": "s",
    }
    assert {name: item.unit for name, item in on_cpu.items()} == units
    assert all(0 < item.low <= item.value <= item.high for item in on_cpu.values())
    assert all(item.repeats >= SAMPLES_AT_LEAST and item.detail for item in on_cpu.values())
    assert on_cpu["call_latency"].value < 1e-3
    assert result.chip
    assert (result.threads, result.load_average >= 0) == (1, True)
    assert 0.05 * len(units) < result.seconds < 30
    absent = {name for name in ("mps", "cuda") if ceilings_devices.unusable(name)}
    assert absent <= set(result.skipped)
    assert "cpu float32 matmul" in report.messages


def test_what_fails_is_skipped_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little_memory: None) -> None:
    real = ceilings_matmul.product

    def product(device: str, dtype: str, size: int) -> Callable[[], object]:
        if dtype == "int8":
            raise NotImplementedError('"addmm" not implemented for Char\nsecond line')
        return real(device, dtype, size)

    monkeypatch.setattr(ceilings_matmul, "product", product)
    result = ceilings.run(QUICK, QuietReporter(tmp_path))
    assert result.skipped == {"cpu int8 matmul": '"addmm" not implemented for Char'}
    assert "int8 matmul" not in measured(result)
    assert len(result.ceilings) == 5
    assert result.chip == "Chip 9"


def test_absent_devices_are_skipped_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: False)
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    devices, reasons = usable("all", MIB)
    assert [item.name for item in devices] == ["cpu"]
    assert reasons == {"mps": "this torch is built without MPS", "cuda": "no usable GPU or driver"}
    with pytest.raises(ExplorerError, match="device cuda cannot be used: no usable GPU or driver"):
        usable("cuda", MIB)


def test_a_device_that_fails_on_its_first_bytes_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)

    def ones(*shape: int, device: str) -> torch.Tensor:
        raise RuntimeError(f"{device.upper()} backend out of memory\ntraceback")

    monkeypatch.setattr(torch, "ones", ones)
    assert ceilings_devices.unusable("mps") == "MPS backend out of memory"


class Cancelling(QuietReporter):
    """Asked to stop at the `at`-th call of `control`."""

    def __init__(self, folder: Path, at: int) -> None:
        super().__init__(folder)
        self.left = at

    def control(self) -> Orders:
        self.left -= 1
        if not self.left:
            raise Cancelled
        return NO_ORDERS


@pytest.mark.usefixtures("little_memory")
def test_cancel_between_and_within_figures(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    report = Cancelling(tmp_path, at=1)
    with pytest.raises(Cancelled):
        ceilings.run(QUICK, report)
    assert report.messages == []
    started = time.perf_counter()
    report = Cancelling(tmp_path, at=4)
    with pytest.raises(Cancelled):
        ceilings.run(CeilingsSpec(devices="cpu", seconds=60, threads=before + 1), report)
    assert time.perf_counter() - started < 10
    assert report.messages == ["cpu float32 matmul"]
    assert torch.get_num_threads() == before


def test_no_more_than_a_quarter_of_the_memory() -> None:
    budget = host_budget_bytes(facts(16 * MIB))
    assert budget == 4 * MIB
    small = ceilings_memory.bandwidth(device(budget), watch())
    assert small.detail == "copy of 2 MiB, bytes read and written, held small by the memory that is available"
    size = int(ceilings_matmul.matmul(device(budget), "float32", watch()).detail.split(" x ")[0])
    assert 3 * 4 * size**2 <= budget
    with pytest.raises(MemoryError, match="128 x 128 do not fit in a quarter"):
        ceilings_matmul.matmul(device(1000), "float32", watch())
    with pytest.raises(MemoryError, match="arrays of 1 MiB do not fit"):
        ceilings_memory.bandwidth(device(MIB), watch())


def test_without_memory_the_reason_stands_in_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "collect", lambda: facts(1000))
    result = ceilings.run(QUICK, QuietReporter(tmp_path))
    assert [item.quantity for item in result.ceilings] == ["call_latency"]
    assert set(result.skipped) == {
        "cpu float32 matmul",
        "cpu float16 matmul",
        "cpu bfloat16 matmul",
        "cpu int8 matmul",
        "cpu bandwidth",
    }


def test_copies_to_and_from_a_device_with_memory_of_its_own() -> None:
    other = device(8 * MIB, has_own_memory=True)
    names = [figure.name for figure in ceilings.figures(other)]
    assert names[-3:] == ["cpu copy_to_device", "cpu copy_from_device", "cpu call_latency"]
    for figure in ceilings.figures(other)[-3:-1]:
        item = figure.measure(watch())
        assert item.quantity == figure.name.removeprefix("cpu ")
        assert item.detail == "4 MiB, pageable host memory"
        assert item.value > 1e8


def test_products_are_right() -> None:
    for dtype in ceilings_matmul.DTYPES:
        out = ceilings_matmul.product("cpu", dtype, 128)()
        assert isinstance(out, torch.Tensor)
        assert out.shape == (128, 128)
        assert out.dtype == (torch.int32 if dtype == "int8" else getattr(torch, dtype))
        assert int(out.count_nonzero()) > 128 * 120


@pytest.mark.parametrize(
    ("rates", "longest_s", "expected"),
    [
        ([1, 2, 4, 8, 9, 9.1], math.inf, 4096),
        ([1, 2, 4, 4.05, 3.9, 99], math.inf, 2048),
        ([1, 2, 4, 3, 2, 99], math.inf, 512),
        ([4, 3, 2, 99, 99, 99], math.inf, 128),
        ([1, 2, 4, 8, 9, 9.1], 512**3 / 2 - 1, 256),
        ([1, 2, 4, 8, 9, 9.1], 1.0, 128),
    ],
)
def test_the_size_grows_until_the_rate_stops_rising(rates: Sequence[float], longest_s: float, expected: int) -> None:
    """512 is predicted from the rate at 256, which is 2."""
    rate = dict(zip(ceilings_matmul.CPU_SIZES, rates, strict=True))
    assert fastest_size(ceilings_matmul.CPU_SIZES, lambda size: size**3 / rate[size], longest_s) == expected


class FakeTime:
    """A clock that calls move; each takes the next of `seconds`, then the last one again."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self.now = 0.0
        self.calls = 0
        self.synchronized = 0
        self.seconds = itertools.chain(seconds, itertools.repeat(seconds[-1]))

    def call(self) -> None:
        self.calls += 1
        self.now += next(self.seconds)

    def synchronize(self) -> None:
        self.synchronized += 1

    def clock(self) -> float:
        return self.now


def test_the_median_is_of_what_has_settled() -> None:
    fake = FakeTime([9.0, 0.1, 0.1, *[0.1 / 0.9**index for index in range(8, 0, -1)], 0.1])
    timed = Stopwatch(fake.synchronize, 2.0, clock=fake.clock).measure(fake.call)
    assert timed.median == pytest.approx(0.1)
    assert timed.high < 0.12
    assert timed.repeats == pytest.approx(20, abs=1)
    assert fake.synchronized >= 2 * timed.repeats


def test_short_calls_share_a_sample_and_long_ones_are_repeated_at_least() -> None:
    fake = FakeTime([1e-6])
    timed = Stopwatch(fake.synchronize, 0.5, clock=fake.clock).measure(fake.call)
    assert timed.median == pytest.approx(1e-6)
    assert timed.repeats == pytest.approx(100, abs=2)
    fake = FakeTime([3.0])
    assert Stopwatch(fake.synchronize, 0.5, clock=fake.clock).measure(fake.call).repeats == SAMPLES_AT_LEAST


def test_a_glance_is_of_the_fastest_sample() -> None:
    fake = FakeTime([1.0, 1.0, 3.0, 2.0, 4.0])
    assert Stopwatch(fake.synchronize, 1.0, clock=fake.clock).glance(fake.call) == pytest.approx(2.0)
    assert fake.calls == 5


def test_spread_is_of_percentiles() -> None:
    fake = FakeTime([*([1.0] * 8), *[1.0 + index / 100 for index in range(11)]])
    timed = Stopwatch(fake.synchronize, 11.5, clock=fake.clock).measure(fake.call)
    assert (timed.low, timed.median, timed.high) == pytest.approx((1.01, 1.05, 1.09))


def test_a_figure_that_strayed_is_measured_again_and_the_fastest_attempt_counts() -> None:
    steady, disturbed = [1.0] * 6, [1.0, 3.0, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    fake = FakeTime([1.0, 1.0, *steady, *disturbed, *steady, *([1.1] * 20)])
    timed = Stopwatch(fake.synchronize, 19.5, clock=fake.clock).measure(fake.call)
    assert timed.median == pytest.approx(1.1)
    assert timed.high < 1.15 * timed.low
    fake = FakeTime([*([9.0] * 11), *([1.0] * 9)])
    assert Stopwatch(fake.synchronize, 20.0, clock=fake.clock).measure(fake.call, glanced=1.0).median == 1.0
    fake = FakeTime([1.0, 2.0] * 500)
    assert Stopwatch(fake.synchronize, 15.0, clock=fake.clock).measure(fake.call).median in (1.0, 1.5, 2.0)
    assert fake.calls < 3 * 40


def test_the_last_level_counts_each_cache_once(tmp_path: Path) -> None:
    def cache(cpu: int, index: int, level: int, size: str, shared: str) -> None:
        folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in {"level": str(level), "size": size, "shared_cpu_list": shared}.items():
            (folder / name).write_text(text + "\n")

    assert ceilings_memory.last_level_cache_bytes(tmp_path) == 0
    for cpu in range(4):
        cache(cpu, 2, 2, "1024K", str(cpu))
        cache(cpu, 3, 3, "32768K", "0-1" if cpu < 2 else "2-3")
    assert ceilings_memory.last_level_cache_bytes(tmp_path) == 64 * MIB
    (tmp_path / "cpu0/cache/index3/size").write_text("")
    assert ceilings_memory.last_level_cache_bytes(tmp_path) == 64 * MIB
    assert ceilings_memory.array_bytes(64 * MIB) == 256 * MIB
    assert ceilings_memory.array_bytes(384 * MIB) == 1536 * MIB


def test_findings_name_a_busy_machine_a_slow_dtype_and_unsteady_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "collect", lambda: facts(32 * MIB, **{"cpu.logical": 2}))
    monkeypatch.setattr(os, "getloadavg", lambda: (3.5, 0.0, 0.0))

    def made(quantity: str, dtype: str, value: float, high: float) -> Ceiling:
        unit = "FLOP/s" if quantity == "matmul" else "B/s"
        values = {"device": "cpu", "quantity": quantity, "dtype": dtype, "unit": unit, "repeats": 9}
        return Ceiling.model_validate({**values, "value": value, "low": value, "high": high})

    figures = [made("matmul", "float32", 200.0, 210.0), made("matmul", "float16", 4.0, 4.1), made("bandwidth", "", 30.0, 60.0)]
    monkeypatch.setattr(ceilings, "_measured", lambda *arguments: (figures, {}))
    monkeypatch.setattr(ceilings, "_switches", lambda: 0)
    report = QuietReporter(tmp_path)
    result = ceilings.run(QUICK, report)
    busy = "load average 3.5 on 2 CPUs at the start, other programs took a CPU 0 times a second"
    assert [(item.severity, item.title, item.evidence) for item in result.findings] == [
        ("warning", "the machine was busy: its limits may be higher than measured", busy),
        ("warning", "some figures strayed while they were measured", "90th over 10th percentile: cpu bandwidth 2.0x"),
        ("info", "cpu float16 matmul is 50 times slower than float32", "torch has no fast path for it here"),
    ]
    assert [title for _, title in report.findings] == [item.title for item in result.findings]


def test_other_programs_are_noticed_while_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "collect", lambda: facts(32 * MIB, **{"cpu.logical": 2}))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(ceilings, "_measured", lambda *arguments: ([], {}))
    counts = iter([100, 100, 100, 200_000])
    monkeypatch.setattr(ceilings, "_switches", lambda: next(counts))
    assert ceilings.run(QUICK, QuietReporter(tmp_path)).findings == []
    assert "other programs took a CPU" in ceilings.run(QUICK, QuietReporter(tmp_path)).findings[0].evidence


@pytest.mark.usefixtures("little_memory")
def test_threads_are_no_more_than_the_process_may_use(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        assert ceilings.run(QUICK.model_copy(update={"threads": None}), QuietReporter(tmp_path)).threads == 1
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
