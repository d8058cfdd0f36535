"""From an energy counter to power."""

from collections.abc import Sequence

from explorer.hardware.answers import known, missing
from explorer.schemas.readings import Reading

# Energy comes in batches on some chips (about one a second on M5 Max): power is taken from one change to a later one.
WINDOW_S = 0.9
STILL_S = 3.5
GAP_S = 60.0  # after this the counter may have wrapped more than once
STILL = "not reported by this system: its energy counter stands still"


class Rail:
    """Power of one energy counter in joules, which starts again at 0 after `range_j` where that is given."""

    def __init__(self, source: str, range_j: float | None = None, still: str = STILL) -> None:
        self._source = source
        self._range_j = range_j
        self._still = still
        self._energy_j = 0.0
        self._restart(0.0)
        self._seen_s: float | None = None

    def reading(self, now_s: float, energy_j: float) -> Reading:
        """Watts between the last two changes; stale between batches, and missing while the counter stands still."""
        unseen = self._seen_s is None or now_s - self._seen_s > GAP_S
        gained_j = None if unseen else self._gained(energy_j)
        self._seen_s, self._energy_j = now_s, energy_j
        if gained_j is None:
            self._restart(now_s)
        elif gained_j > 0:
            self._add(now_s, gained_j)
        return self._answer(now_s)

    def _gained(self, energy_j: float) -> float | None:
        """Joules since the last sample; None when the counter was reset."""
        gained_j = energy_j - self._energy_j
        if gained_j < 0 and self._range_j is not None:
            gained_j += self._range_j
        return gained_j if gained_j >= 0 else None

    def _restart(self, now_s: float) -> None:
        self._window_s: float | None = None
        self._window_j = 0.0
        self._changed_s = now_s
        self._watts: float | None = None

    def _add(self, now_s: float, gained_j: float) -> None:
        """Close the window at this change when it is long enough; the first change only opens one."""
        self._changed_s = now_s
        if self._window_s is None:
            self._window_s, self._window_j = now_s, 0.0
            return
        self._window_j += gained_j
        if now_s - self._window_s >= WINDOW_S:
            self._watts = self._window_j / (now_s - self._window_s)
            self._window_s, self._window_j = now_s, 0.0

    def _answer(self, now_s: float) -> Reading:
        still_s = now_s - self._changed_s
        if still_s >= STILL_S:
            self._window_s, self._watts = None, None
            return missing(self._still, self._source, "W")
        if self._watts is None:
            return missing("power needs a few samples", self._source, "W", "pending")
        if still_s > 0:
            reason = f"energy arrives in batches, the last one {still_s:.0f} s ago"
            return Reading(value=round(self._watts, 2), unit="W", source=self._source, state="stale", reason=reason)
        return known(round(self._watts, 2), self._source, "W")


def total(readings: Sequence[Reading]) -> Reading:
    """The sum of several rails; the first that is not known decides when one is not."""
    unknown = [reading for reading in readings if not reading.known]
    if unknown or len(readings) == 1:
        return (unknown or list(readings))[0]
    watts = round(sum(reading.value for reading in readings), 2)
    stale = next((reading for reading in readings if reading.state == "stale"), None)
    return (stale or readings[0]).model_copy(update={"value": watts})
