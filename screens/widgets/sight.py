"""Where one looks along an axis: the whole or a window of it, and a cursor that stands on columns of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

from screens.widgets.scales import Window, panned, round_up, zoomed

EMPTY_EXTENT = 100.0
NARROWEST = 1 / 10_000  # of the whole axis
ALL = 1e9


@dataclass
class Sight:
    """The axis is 0..`extent`; `zoom` is the window shown, None for all of it; `cells` is how many columns show it."""

    extent: float = 0.0
    zoom: Window | None = None
    cursor: float | None = None
    cells: int = 2

    @property
    def window(self) -> Window:
        """The part that is shown."""
        return self.zoom or (0.0, self.extent or EMPTY_EXTENT)

    def reset(self) -> None:
        """The whole of an axis of which nothing is known yet, without a cursor."""
        self.extent, self.zoom, self.cursor = 0.0, None, None

    def fit(self, last: float, total: float | None) -> bool:
        """Widen the axis to `total`, or to a round number beyond the latest value; says whether it moved."""
        wanted = total if total and last <= total else round_up(last) if last > 0 else EMPTY_EXTENT
        if wanted <= self.extent:
            return False
        self.extent = wanted
        return True

    def magnify(self, factor: float, last: float) -> None:
        """Show `factor` times as much; the cursor, or the latest value, keeps its place."""
        around = self.cursor if self.cursor is not None else last
        self._show(zoomed(self.window, around, factor, self.extent, self.extent * NARROWEST))

    def whole(self) -> None:
        self.zoom = None

    def pan(self, by: float) -> None:
        """Move the window by a share of its width."""
        self._show(panned(self.window, by, self.extent))

    def follow(self, before: float, last: float) -> bool:
        """Let a window that showed the latest value `before` show it still, a quarter further each time; says whether it moved.

        A cursor holds the window.
        """
        if self.zoom is None or self.cursor is not None:
            return False
        start, stop = self.zoom
        if not start <= before <= stop < last:
            return False
        self.pan(math.ceil((last - stop) / (stop - start) * 4) / 4)
        return True

    def read(self, last: float) -> None:
        """Put the cursor on the latest value that is shown."""
        start, stop = self.window
        self.cursor = self.x_of(self.cell_of(min(stop, max(start, last))))

    def step(self, by: int) -> None:
        """Move the cursor by cells; at its edge the window moves along."""
        cell = self.cell_of(self.cursor or 0.0) + by
        if not 0 <= cell < self.cells and self.zoom is not None:
            self.pan(0.25 if by > 0 else -0.25)
            cell = self.cell_of(self.cursor or 0.0) + by
        self.cursor = self.x_of(max(0, min(self.cells - 1, cell)))

    def x_of(self, cell: int) -> float:
        """The place on the axis of a column of cells: its second column of dots."""
        start, stop = self.window
        return start + (2 * cell + 1) / (2 * self.cells - 1) * (stop - start)

    def cell_of(self, x: float) -> int:
        """The column of cells of a place on the axis."""
        start, stop = self.window
        return math.floor((x - start) / (stop - start) * (2 * self.cells - 1) + 0.5) // 2

    def _show(self, window: Window) -> None:
        self.zoom = None if window[1] - window[0] >= self.extent * (1 - 1e-9) else window
