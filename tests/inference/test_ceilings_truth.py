"""The measured ceilings against plain loops timed between them; the loops against each other say how noisy the machine is."""

import statistics
import time
from collections.abc import Callable, Iterator

import pytest
import torch

from explorer.hardware import inventory
from explorer.inference import ceilings
from explorer.inference.ceilings import Figure
from explorer.inference.ceilings_devices import host_budget_bytes, usable
from explorer.inference.ceilings_timing import Stopwatch
from explorer.inference.torch_settings import torch_threads
from explorer.schemas.results import Ceiling

ROUNDS = 9
ATTEMPTS = 4
SECONDS = 0.1
CLEAN = 0.05
TOLERANCES = {"matmul": 0.10, "bandwidth": 0.15}


def rate_of(call: Callable[[], object], amount: float) -> float:
    """`amount` over the median time of a call, from a plain loop after three calls."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return amount / statistics.median(times)


def plain_rate(item: Ceiling) -> float:
    """The same work by a loop of two lines that shares nothing with the product."""
    if item.quantity == "bandwidth":
        size = int(item.detail.split()[2]) << 20
        source, target = torch.rand(size // 4), torch.rand(size // 4)
        return rate_of(lambda: target.copy_(source), 2.0 * size)
    size = int(item.detail.split(" x ")[0])
    if item.dtype == "int8":
        left, right = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        return rate_of(lambda: torch._int_mm(left, right), 2.0 * size**3)
    first, second = (torch.randn(size, size).to(getattr(torch, item.dtype)) for _ in range(2))
    return rate_of(lambda: first @ second, 2.0 * size**3)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Two threads wait for each other as soon as another program takes one of two CPUs."""
    with torch_threads(1):
        yield


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("one_thread")
def test_ceilings_agree_with_plain_loops_of_the_same_run() -> None:
    """Within 10 % for products and 15 % for the copy: medians of rounds in which the figure and both loops take turns.

    The first attempt at a figure whose loops agree with each other, which is the null, is the verdict, whatever it says.
    """
    devices, _ = usable("cpu", host_budget_bytes(inventory.collect()))
    for figure in ceilings.figures(devices[0]):
        if "latency" not in figure.name:
            ratio, outcomes = ratio_to_plain(figure)
            print(figure.name, *outcomes)  # noqa: T201
            assert ratio is not None, f"{figure.name}: too noisy for a verdict: {outcomes}"
            assert abs(ratio - 1) <= TOLERANCES[figure.name.split()[-1]], f"{figure.name}: {outcomes}"


def ratio_to_plain(figure: Figure) -> tuple[float | None, list[str]]:
    """The figure over the plain loops, None when no attempt had a clean null, and each attempt in words."""
    outcomes: list[str] = []
    for _ in range(ATTEMPTS):
        rounds = []
        for _ in range(ROUNDS):
            item = figure.measure(Stopwatch(figure.device.synchronize, SECONDS))
            rounds.append((item.value, plain_rate(item), plain_rate(item)))
        measured, first, second = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio, null = 2 * measured / (first + second), second / first
        outcomes.append(f"measured / plain {ratio:.3f}, null {null:.3f}")
        if abs(null - 1) <= CLEAN:
            return ratio, outcomes
    return None, outcomes
