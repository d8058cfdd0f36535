"""The measured ceilings against plain loops timed between them; the loops against each other say how noisy the machine is."""

import math
import resource
import statistics
import time
from collections.abc import Callable

import pytest
import torch

from explorer.hardware import inventory
from explorer.inference import ceilings
from explorer.inference.ceilings_devices import host_budget_bytes, usable
from explorer.inference.ceilings_timing import Stopwatch
from explorer.schemas.results import Ceiling

ROUNDS_AT_MOST = 25
ROUNDS_WANTED = 5
SECONDS = 0.3
STEADY = 1.15
QUIET = 0.05
TOLERANCES = {"matmul": 0.10, "bandwidth": 0.15}


class Undisturbed:
    """Around a piece of work: afterwards `quiet` says whether other programs left it the CPUs."""

    quiet = False

    def __enter__(self) -> "Undisturbed":
        self._switches, self._start = switches(), time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.quiet = (switches() - self._switches) / (time.perf_counter() - self._start) < ceilings.BUSY_SWITCHES_PER_S


def switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def rate_of(call: Callable[[], object], amount: float) -> float:
    """`amount` over the median time of a call, from a plain loop after three calls; NaN when something disturbed it."""
    for _ in range(3):
        call()
    times: list[float] = []
    with Undisturbed() as loop:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end or len(times) < 5:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    deciles = statistics.quantiles(times, n=10)
    return amount / statistics.median(times) if loop.quiet and deciles[-1] < STEADY * deciles[0] else math.nan


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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ceilings_agree_with_plain_loops_of_the_same_run() -> None:
    """Within 10 % for products and 15 % for the copy, in the median of the rounds that nothing disturbed.

    Whether a round counts is decided without the ratio: no other program took the CPUs, the figure and both loops right
    after it are steady, and the loops, which are the null, agree.
    """
    devices, _ = usable("cpu", host_budget_bytes(inventory.collect()))
    figures = [figure for figure in ceilings.figures(devices[0]) if "latency" not in figure.name]
    ratios: dict[str, list[float]] = {figure.name: [] for figure in figures}
    for _ in range(ROUNDS_AT_MOST):
        for figure in [figure for figure in figures if len(ratios[figure.name]) < ROUNDS_WANTED]:
            with Undisturbed() as measurement:
                item = figure.measure(Stopwatch(figure.device.synchronize, SECONDS))
            first, second = plain_rate(item), plain_rate(item)
            if measurement.quiet and abs(second / first - 1) <= QUIET and item.high < STEADY * item.low:
                ratios[figure.name].append(item.value / ((first + second) / 2))
    for name, found in ratios.items():
        print(f"{name}: measured / plain {', '.join(f'{ratio:.3f}' for ratio in found)}")  # noqa: T201
    for name, found in ratios.items():
        assert len(found) == ROUNDS_WANTED, f"{name}: the machine was too noisy for a comparison"
        assert abs(statistics.median(found) - 1) <= TOLERANCES[name.split()[-1]], name
