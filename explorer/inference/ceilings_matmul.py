"""How fast a device multiplies matrices in each dtype, and how long its smallest call takes."""

from collections.abc import Callable, Sequence

import torch

from explorer.inference.ceilings_devices import Device
from explorer.inference.ceilings_timing import Call, Stopwatch
from explorer.schemas.results import Ceiling

# Bytes of an element in both factors and the product together.
DTYPES = {"float32": 12, "float16": 6, "bfloat16": 6, "int8": 6}
CPU_SIZES = (128, 256, 512, 1024, 2048, 4096)
ACCELERATOR_SIZES = (512, 1024, 2048, 4096, 8192, 16384)
# A size counts as faster when it gains this much; two in a row that do not end the search.
GAIN = 1.03
FLAT_SIZES = 2
# Of sizes that are about as fast the largest is taken, since real layers do not sit in the nearest cache.
AS_FAST = 0.95


def matmul(device: Device, dtype: str, watch: Stopwatch) -> Ceiling:
    """The rate of n x n x n products at the size where it no longer rises; int8 accumulates into int32.

    2 n^3 operations a product. Raises RuntimeError where torch cannot multiply in that dtype.
    """
    sizes = [size for size in _sizes(device) if DTYPES[dtype] * size * size <= device.budget_bytes]
    if not sizes:
        raise MemoryError(
            f"matrices of {_sizes(device)[0]} x {_sizes(device)[0]} do not fit in a quarter of the available memory"
        )
    glanced: dict[int, float] = {}

    def glance(size: int) -> float:
        glanced[size] = watch.glance(product(device.name, dtype, size))
        return glanced[size]

    size = fastest_size(sizes, glance, watch.seconds)
    timed = watch.measure(product(device.name, dtype, size), glanced[size])
    operations = 2.0 * size**3
    return Ceiling(
        device=device.name,
        quantity="matmul",
        dtype=dtype,
        value=operations / timed.median,
        low=operations / timed.high,
        high=operations / timed.low,
        unit="OP/s" if dtype == "int8" else "FLOP/s",
        repeats=timed.repeats,
        detail=f"{size} x {size} x {size}",
    )


def fastest_size(sizes: Sequence[int], seconds_of: Callable[[int], float], longest_s: float) -> int:
    """The largest size within 5 % of the best rate; after the first, none whose call would take over `longest_s` is tried."""
    rates: dict[int, float] = {}
    best, flat, per_operation = 0.0, 0, 0.0
    for size in sizes:
        if per_operation * size**3 > longest_s:
            break
        seconds = seconds_of(size)
        per_operation, rates[size] = seconds / size**3, size**3 / seconds
        flat = 0 if rates[size] > GAIN * best else flat + 1
        best = max(best, rates[size])
        if flat == FLAT_SIZES:
            break
    return max(size for size, rate in rates.items() if rate >= AS_FAST * best)


def product(device: str, dtype: str, size: int) -> Call:
    """One product of two random square matrices into memory that is there already."""
    generator = torch.Generator(device).manual_seed(0)
    if dtype == "int8":
        left, right = (
            torch.randint(-128, 128, (size, size), dtype=torch.int8, device=device, generator=generator) for _ in range(2)
        )
        sums = torch.empty(size, size, dtype=torch.int32, device=device)
        # cuBLASLt is fastest, and on some versions only works, with the right factor in columns.
        right = right.t() if device == "cuda" else right
        return lambda: torch._int_mm(left, right, out=sums)
    kind = getattr(torch, dtype)
    first, second = (torch.randn(size, size, dtype=kind, device=device, generator=generator) for _ in range(2))
    out = torch.empty(size, size, dtype=kind, device=device)
    return lambda: torch.mm(first, second, out=out)


def call_latency(device: Device, watch: Stopwatch) -> Ceiling:
    """Seconds from calling an addition to one element until it is done."""
    element = torch.zeros(1, device=device.name)

    def call() -> None:
        element.add_(1.0)
        device.synchronize()

    timed = watch.measure(call)
    return Ceiling(
        device=device.name,
        quantity="call_latency",
        value=timed.median,
        low=timed.low,
        high=timed.high,
        unit="s",
        repeats=timed.repeats,
        detail="add to 1 float32, synchronised",
    )


def _sizes(device: Device) -> tuple[int, ...]:
    return CPU_SIZES if device.name == "cpu" else ACCELERATOR_SIZES
