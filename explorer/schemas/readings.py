"""Measured and reported values, each with where it came from and whether it could be had."""

from typing import Any, Literal

from explorer.schemas.base import Record

ReadingState = Literal["ok", "absent", "unsupported", "denied", "stale", "estimated", "pending"]


class Reading(Record):
    """A value of this machine. `value` is None whenever `state` is neither ok, estimated nor stale; `reason` then says why."""

    value: Any = None
    unit: str = ""
    source: str = ""
    state: ReadingState = "ok"
    reason: str = ""

    @property
    def known(self) -> bool:
        return self.state in ("ok", "estimated", "stale") and self.value is not None


class Inventory(Record):
    """What this machine is and can compute with: readings under dotted names such as `chip.name` or `mps.usable`."""

    readings: dict[str, Reading]

    def get(self, name: str) -> Reading:
        """The reading of that name; an absent one when it was never taken."""
        return self.readings.get(name) or Reading(state="absent", reason="not read")


class HardwareSample(Record):
    """Live values at one moment; `time_s` is monotonic and comparable within one engine only."""

    time_s: float
    readings: dict[str, Reading]
