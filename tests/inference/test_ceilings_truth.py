"""The measured ceilings against plain loops timed between them; the loops against each other say how noisy the machine is."""

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from explorer.inference import ceilings
from explorer.reporter import QuietReporter
from explorer.schemas.results import Ceiling
from explorer.schemas.specs import CeilingsSpec

ROUNDS_AT_MOST = 20
ROUNDS_WANTED = 3
SECONDS = 0.3
STEADY = 1.15
QUIET = 0.05
TOLERANCES = {"matmul": 0.10, "bandwidth": 0.15}
FIGURES = {"matmul float32", "matmul float16", "matmul bfloat16", "matmul int8", "bandwidth"}


def rate_of(call: Callable[[], object], amount: float) -> float:
    """`amount` over the median time of a call, from a plain loop after three calls; NaN when the times strayed."""
    for _ in range(3):
        call()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    deciles = statistics.quantiles(times, n=10)
    return amount / statistics.median(times) if deciles[-1] < STEADY * deciles[0] else math.nan


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
def test_ceilings_agree_with_plain_loops_of_the_same_run(tmp_path: Path) -> None:
    """Within 10 % for products and 15 % for the copy, in the median of the rounds that nothing disturbed.

    Whether a round counts is decided without the ratio: the figure and both loops after it are steady, and the loops,
    which are the null, agree.
    """
    ratios: dict[str, list[float]] = {name: [] for name in FIGURES}
    for _ in range(ROUNDS_AT_MOST):
        result = ceilings.run(CeilingsSpec(devices="cpu", seconds=SECONDS), QuietReporter(tmp_path))
        for item in result.ceilings:
            if item.quantity in TOLERANCES:
                first, second = plain_rate(item), plain_rate(item)
                if abs(second / first - 1) <= QUIET and item.high < STEADY * item.low:
                    ratios[f"{item.quantity} {item.dtype}".strip()].append(item.value / ((first + second) / 2))
        if all(len(found) >= ROUNDS_WANTED for found in ratios.values()):
            break
    for name, found in ratios.items():
        print(f"{name}: measured / plain {', '.join(f'{ratio:.3f}' for ratio in found)}")  # noqa: T201
    for name, found in ratios.items():
        assert len(found) >= ROUNDS_WANTED, f"{name}: the machine was too noisy for a comparison"
        assert abs(statistics.median(found) - 1) <= TOLERANCES[name.split()[0]], name
