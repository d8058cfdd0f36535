"""The roofline model: what a device can reach at most, from its measured ceilings.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 2009: attainable FLOP/s = min(peak FLOP/s, intensity x bandwidth), with the
intensity in FLOP a byte of memory traffic. Integer operations count like floating-point ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from explorer.schemas.results import Ceiling

Bound = Literal["compute", "memory"]


@dataclass(frozen=True)
class Roof:
    """The most at one intensity: FLOP/s, and what holds it there."""

    flops_per_s: float
    bound: Bound


@dataclass(frozen=True)
class Limit:
    """The least time a piece of work can take, in seconds, and what holds it there."""

    seconds: float
    bound: Bound


@dataclass(frozen=True)
class Share:
    """How close a measured time came to its limit: 1.0 is at the limit, 0.1 took ten times as long."""

    share: float
    bound: Bound


def peak(ceilings: Iterable[Ceiling], device: str, dtype: str) -> float | None:
    """The measured matmul rate in FLOP/s (OP/s for integers); None when it was not measured."""
    return _highest(item for item in ceilings if (item.device, item.quantity, item.dtype) == (device, "matmul", dtype))


def bandwidth(ceilings: Iterable[Ceiling], device: str) -> float | None:
    """The measured memory bandwidth in B/s; None when it was not measured."""
    return _highest(item for item in ceilings if (item.device, item.quantity) == (device, "bandwidth"))


def ridge(ceilings: Iterable[Ceiling], device: str, dtype: str) -> float | None:
    """The least intensity in FLOP/B at which the peak is within reach; below it memory is the limit."""
    roofs = _roofs(ceilings, device, dtype)
    return roofs[0] / roofs[1] if roofs else None


def attainable(intensity: float, ceilings: Iterable[Ceiling], device: str, dtype: str) -> Roof | None:
    """The roof at an intensity in FLOP/B; None when peak or bandwidth was not measured."""
    roofs = _roofs(ceilings, device, dtype)
    if roofs is None:
        return None
    compute, memory = roofs[0], intensity * roofs[1]
    return Roof(compute, "compute") if compute <= memory else Roof(memory, "memory")


def limit_seconds(flops: float, moved_bytes: float, ceilings: Iterable[Ceiling], device: str, dtype: str) -> Limit | None:
    """The least time for `flops` that move `moved_bytes` to or from memory; None when peak or bandwidth was not measured."""
    roofs = _roofs(ceilings, device, dtype)
    if roofs is None:
        return None
    compute_s, memory_s = flops / roofs[0], moved_bytes / roofs[1]
    return Limit(compute_s, "compute") if compute_s >= memory_s else Limit(memory_s, "memory")


def share_of_limit(
    seconds: float, flops: float, moved_bytes: float, ceilings: Iterable[Ceiling], device: str, dtype: str
) -> Share | None:
    """The least time over the measured one; None when the limit is not known or no time was taken.

    Above 1 when the work stayed in caches or the ceiling was measured on a busy machine.
    """
    limit = limit_seconds(flops, moved_bytes, ceilings, device, dtype)
    return Share(limit.seconds / seconds, limit.bound) if limit is not None and seconds > 0 else None


def _roofs(ceilings: Iterable[Ceiling], device: str, dtype: str) -> tuple[float, float] | None:
    measured = list(ceilings)
    compute, memory = peak(measured, device, dtype), bandwidth(measured, device)
    return (compute, memory) if compute and memory else None


def _highest(ceilings: Iterable[Ceiling]) -> float | None:
    return max((item.value for item in ceilings if item.value > 0), default=None)
