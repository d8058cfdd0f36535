"""Measured ceilings as plain text: a table, what is missing, and the roofline of each device in a line."""

from collections.abc import Sequence

from explorer.cli.table import table
from explorer.schemas import roofline
from explorer.schemas.quantities import quantity
from explorer.schemas.results import Ceiling, CeilingsResult

HEAD = ["device", "work", "dtype", "median", "p10–p90", "n", "measured on"]
WORK = {
    "matmul": "matmul",
    "bandwidth": "memory bandwidth",
    "copy_to_device": "copy to device",
    "copy_from_device": "copy from device",
    "call_latency": "smallest call",
}


def ceilings_lines(result: CeilingsResult) -> list[str]:
    """A row for each figure; then rooflines, what was skipped and findings."""
    rows = table([HEAD, *map(_row, result.ceilings)], right=(3, 4, 5)) if result.ceilings else []
    devices = list(dict.fromkeys(item.device for item in result.ceilings))
    threads = f"{result.threads} thread{'' if result.threads == 1 else 's'}"
    return [
        *rows,
        *(line for device in devices for line in roofline_lines(result.ceilings, device)),
        *(f"skipped {name}: {reason}" for name, reason in result.skipped.items()),
        *(f"{finding.severity}: {finding.title}: {finding.evidence}" for finding in result.findings),
        f"{result.chip}, {threads}, load {result.load_average:.1f}, measured in {result.seconds:.1f} s",
    ]


def roofline_lines(ceilings: Sequence[Ceiling], device: str) -> list[str]:
    """A line for each dtype: memory is the limit up to the ridge point in FLOP/B, the matmul rate beyond it."""
    memory = roofline.bandwidth(ceilings, device)
    lines = []
    for item in ceilings:
        ridge = roofline.ridge(ceilings, device, item.dtype)
        if (item.device, item.quantity) == (device, "matmul") and ridge is not None and memory is not None:
            unit = item.unit.replace("/s", "/B")
            slope = f"{quantity(memory, 'B/s')} x intensity up to {ridge:.3g} {unit}"
            lines.append(f"{device} {item.dtype} roofline: {slope}, then {quantity(item.value, item.unit)}")
    return lines


def _row(item: Ceiling) -> list[str]:
    low, high = quantity(item.low, item.unit), quantity(item.high, item.unit)
    return [
        item.device,
        WORK[item.quantity],
        item.dtype,
        quantity(item.value, item.unit),
        f"{low}–{high}",
        f"{item.repeats}",
        item.detail,
    ]
