"""What the machine does now and did in the last minutes, from live samples; no widget."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from explorer.schemas.readings import HardwareSample, Reading
from screens.text import ascii_only
from screens.widgets.braille import Dots, sign

KEPT = 600
# Two dot columns a cell, a sample each.
SPARK_CELLS = 12
LEVELS = " ▁▂▃▄▅▆▇█"
LEVELS_ASCII = " .:-=+*#@"


class Live:
    """The latest sample, and the past of each value in shares 0..1 of its full scale; a value that was missing is a gap."""

    def __init__(self) -> None:
        self.latest: dict[str, Reading] = {}
        self.memory_bytes: float | None = None
        self._past: dict[str, deque[float | None]] = {}
        self._last_s: float | None = None

    def get(self, name: str) -> Reading:
        """The latest reading of that name; an absent one when no sample named it."""
        return self.latest.get(name) or Reading(state="absent", reason="not reported by this system")

    def past(self, key: str) -> Sequence[float | None]:
        """Shares of `cpu`, `memory`, `gpu`, `tier:NAME` or `gpu:NUMBER`, oldest first."""
        return self._past.get(key, ())

    def take(self, samples: Iterable[HardwareSample]) -> None:
        """Learn from samples in their order; seconds without one leave a gap."""
        for sample in samples:
            missed = 0 if self._last_s is None else round(sample.time_s - self._last_s) - 1
            for _ in range(min(KEPT, max(0, missed))):
                self._append({})
            self._last_s, self.latest = sample.time_s, sample.readings
            self._append(self._shares())

    def pause(self) -> None:
        """Nobody watched for a while, or the engine was lost: the next sample stands apart."""
        self._last_s = None
        if self._past:
            self._append({})

    def _append(self, shares: dict[str, float | None]) -> None:
        for key in self._past.keys() | shares.keys():
            past = self._past.setdefault(key, deque(maxlen=KEPT))
            past.append(shares.get(key))

    def _shares(self) -> dict[str, float | None]:
        used = number_of(self.get("memory.used_bytes"))
        memory = used / self.memory_bytes if used is not None and self.memory_bytes else None
        shares = {"cpu": _percent(self.get("cpu.use")), "gpu": _percent(self.get("gpu.use")), "memory": memory}
        tiers = {f"tier:{row.get('name')}": _share(row.get("use")) for row in rows_of(self.get("cpu.per_tier"))}
        devices = enumerate(rows_of(self.get("gpu.per_device")))
        return shares | tiers | {f"gpu:{place}": _share(row.get("use_percent")) for place, row in devices}


def number_of(reading: Reading) -> float | None:
    """The reading's value when it is a known number."""
    if not reading.known or isinstance(reading.value, bool) or not isinstance(reading.value, int | float):
        return None
    return float(reading.value)


def rows_of(reading: Reading) -> list[dict[str, object]]:
    """The reading's value when it is a known list of objects; else no rows."""
    value = reading.value if reading.known else None
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def spark(past: Sequence[float | None], cells: int = SPARK_CELLS) -> str:
    """The end of the past as one row of braille, now at the right edge; the lowest dot of a sample is always set."""
    dots = Dots(cells, 1)
    shown = list(past)[-cells * 2 :]
    for x, share in enumerate(shown, start=cells * 2 - len(shown)):
        if share is not None:
            dots.column(x, min(3, round((1 - min(1.0, max(0.0, share))) * 4)))
    return "".join(sign(mask, ascii_only()) for mask in dots.cells[0])


def levels(percents: Sequence[object]) -> str:
    """One sign a core, higher when busier; a core that was not read is left blank."""
    signs = LEVELS_ASCII if ascii_only() else LEVELS
    shares = [_share(value) for value in percents]
    return "".join(" " if share is None else signs[max(1, min(8, round(share * 8)))] for share in shares)


def _percent(reading: Reading) -> float | None:
    value = number_of(reading)
    return None if value is None else value / 100


def _share(percent: object) -> float | None:
    return percent / 100 if isinstance(percent, int | float) and not isinstance(percent, bool) else None
