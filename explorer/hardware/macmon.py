"""`macmon debug` recordings: its first line names the machine, its table holds the frequencies of the device tree."""

import re

from explorer.hardware import core_tiers
from explorer.hardware.powermetrics import MAX_MHZ, Facts

HEAD = re.compile(r"^Chip: (.+?) \| Model: (\S+) \| OS: macOS ([\d.]+) \((\w+)\) \| (proc [\d:]+)$", re.MULTILINE)
TABLE = re.compile(r"^ *voltage-states([0-9]{1,3})(-sram)?: \(f\) ([\d ]+)$", re.MULTILINE)
# The device tree numbers its tables otherwise on some chips: an M2 Max has its P cores at 13 and its GPU at 14.
EFFICIENCY, PERFORMANCE, GPU = ("1-sram",), ("5-sram", "13-sram"), ("9", "9-sram", "14", "14-sram")
CHANNEL = re.compile(r"^(?:CPU Stats|GPU Stats|Energy Model) ::", re.MULTILINE)


def parse(text: str) -> Facts:
    """Chip, system, cores and top speeds; nothing when the piece lacks the first line."""
    head = HEAD.search(text)
    tables = {match[1] + (match[2] or ""): _top_mhz(match[3]) for match in TABLE.finditer(text)}
    if head is None:
        caveat = "the text is cut: its first line, which names the machine, is missing"
        return Facts(caveat=caveat if CHANNEL.search(text) else "", gpu_mhz=_of(tables, GPU))
    tiers = core_tiers.of_counts(head[5])
    if len(tiers) == 2:
        tiers[0]["max_mhz"], tiers[1]["max_mhz"] = _of(tables, PERFORMANCE), _of(tables, EFFICIENCY)
    return Facts(head[1], head[2], head[3], head[4], tiers, _of(tables, GPU))


def _of(tables: dict[str, int | None], names: tuple[str, ...]) -> int | None:
    return next((mhz for name in names if (mhz := tables.get(name))), None)


def _top_mhz(text: str) -> int | None:
    """The highest step: hertz up to an M3, kilohertz later, and some versions of macmon print megahertz."""
    steps = [int(step) for step in text.split() if len(step) < 12]
    top = max(steps, default=0)
    mhz = top / 1e6 if top > 1e8 else top / 1e3 if top > 1e5 else float(top)
    return round(mhz) if 100 <= mhz < MAX_MHZ else None
