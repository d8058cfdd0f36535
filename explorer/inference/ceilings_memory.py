"""How fast a device reads and writes its memory, and how fast data comes to it and back.

The copy is that of STREAM (McCalpin 1995): arrays at least four times the last-level cache, bytes read and written both counted.
"""

from pathlib import Path
from typing import Literal

import torch

from explorer.hardware.readers import text_of
from explorer.inference.ceilings_devices import Device
from explorer.inference.ceilings_timing import Call, Stopwatch
from explorer.schemas.results import Ceiling

MEBIBYTE = 1 << 20
CACHE_MULTIPLE = 4
# Where no cache is reported: Apple's system-level cache is at most 96 MB (M3 Ultra), a GPU's L2 at most 256 MB (MI300X).
CPU_ARRAY_BYTES = 256 * MEBIBYTE
ACCELERATOR_ARRAY_BYTES = 1024 * MEBIBYTE
TRANSFER_BYTES = 256 * MEBIBYTE
SMALLEST_BYTES = MEBIBYTE
CACHES = Path("/sys/devices/system/cpu")
SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bandwidth(device: Device, watch: Stopwatch) -> Ceiling:
    """Bytes read and written in a second while one array is copied to another."""
    wanted = array_bytes(last_level_cache_bytes()) if device.name == "cpu" else ACCELERATOR_ARRAY_BYTES
    size = _within(wanted, device.budget_bytes // 2)
    source, target = _random(size, device.name), torch.zeros(size // 4, device=device.name)
    smaller = "" if size == wanted else ", held small by the memory that is available"
    detail = f"copy of {size // MEBIBYTE} MiB, bytes read and written{smaller}"
    return _rate(device, "bandwidth", 2 * size, lambda: target.copy_(source), watch, detail)


def copy_to_device(device: Device, watch: Stopwatch) -> Ceiling:
    """Bytes in a second from the host's memory."""
    host, remote, detail = _pair(device)
    return _rate(device, "copy_to_device", host.nbytes, lambda: remote.copy_(host, non_blocking=device.pinned), watch, detail)


def copy_from_device(device: Device, watch: Stopwatch) -> Ceiling:
    """Bytes in a second into the host's memory."""
    host, remote, detail = _pair(device)
    return _rate(device, "copy_from_device", host.nbytes, lambda: host.copy_(remote, non_blocking=device.pinned), watch, detail)


def array_bytes(cache_bytes: int) -> int:
    """Bytes of each array, so that none of it is still in the caches when its turn comes again."""
    return max(CPU_ARRAY_BYTES, CACHE_MULTIPLE * cache_bytes)


def last_level_cache_bytes(root: Path = CACHES) -> int:
    """Bytes of all caches of the last level together (a server has one a socket or a cluster); 0 where Linux does not say."""
    caches: dict[int, dict[str, int]] = {}
    for folder in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        level, size, shared = (text_of(folder / name).text.strip() for name in ("level", "size", "shared_cpu_list"))
        if level.isdecimal() and size[:-1].isdecimal() and size[-1] in SUFFIXES:
            caches.setdefault(int(level), {})[shared or folder.parent.parent.name] = int(size[:-1]) * SUFFIXES[size[-1]]
    return sum(caches[max(caches)].values()) if caches else 0


def _pair(device: Device) -> tuple[torch.Tensor, torch.Tensor, str]:
    """Random values on the host and room for them on the device."""
    size = _within(TRANSFER_BYTES, min(device.budget_bytes, device.host_budget_bytes // 2))
    host = _random(size, "cpu")
    if device.pinned:
        host = host.pin_memory()
    kind = "pinned" if device.pinned else "pageable"
    return host, torch.zeros(size // 4, device=device.name), f"{size // MEBIBYTE} MiB, {kind} host memory"


def _random(size: int, device: str) -> torch.Tensor:
    return torch.rand(size // 4, device=device, generator=torch.Generator(device).manual_seed(0))


def _within(wanted: int, budget: int) -> int:
    """`wanted`, or the whole mebibytes that the budget has room for."""
    size = min(wanted, budget) // MEBIBYTE * MEBIBYTE
    if size < SMALLEST_BYTES:
        raise MemoryError(f"arrays of {SMALLEST_BYTES // MEBIBYTE} MiB do not fit in a quarter of the available memory")
    return size


def _rate(
    device: Device,
    quantity: Literal["bandwidth", "copy_to_device", "copy_from_device"],
    size: int,
    call: Call,
    watch: Stopwatch,
    detail: str,
) -> Ceiling:
    timed = watch.measure(call)
    return Ceiling(
        device=device.name,
        quantity=quantity,
        value=size / timed.median,
        low=size / timed.high,
        high=size / timed.low,
        unit="B/s",
        repeats=timed.repeats,
        detail=detail,
    )
