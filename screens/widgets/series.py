"""A curve over a whole run in constant memory: buckets over a fixed extent that doubles when it is outgrown."""

import math
from dataclasses import dataclass, field

BUCKETS = 1024  # more than the dot columns of any usual terminal


@dataclass(slots=True)
class Bucket:
    """What fell into one bucket: x of the last point, first, lowest, highest and last value; `gap` after a NaN."""

    x: float
    first: float
    low: float
    high: float
    last: float
    gap: bool = False


@dataclass
class Series:
    """One curve. `name` stands in the legend; `dotted` tells it from others without colour; `style` names a theme colour."""

    name: str
    dotted: bool = False
    style: str = "$primary"
    digits: int = 3
    buckets: dict[int, Bucket] = field(default_factory=dict)
    low: float = math.inf
    high: float = -math.inf
    last: float | None = None
    _gap: bool = False

    def add(self, x: float, y: float, extent: float) -> None:
        """Append a point; NaN and infinities leave a gap."""
        self.last = y
        if not math.isfinite(y):
            self._gap = True
            return
        self.low, self.high = min(self.low, y), max(self.high, y)
        place = min(BUCKETS - 1, int(x / extent * BUCKETS))
        bucket = self.buckets.get(place)
        if bucket is None:
            self.buckets[place] = Bucket(x, y, y, y, y, self._gap)
            self._gap = False
            return
        bucket.x, bucket.last = x, y
        bucket.low, bucket.high = min(bucket.low, y), max(bucket.high, y)

    def rescale(self, extent: float) -> None:
        """Put what is kept into its places over another extent."""
        old, self.buckets = self.buckets, {}
        for _, item in sorted(old.items()):
            place = min(BUCKETS - 1, int(item.x / extent * BUCKETS))
            present = self.buckets.get(place)
            if present is None:
                self.buckets[place] = item
            else:
                present.x, present.last = item.x, item.last
                present.low, present.high = min(present.low, item.low), max(present.high, item.high)
