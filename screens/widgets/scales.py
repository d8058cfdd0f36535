"""Ranges of axes and windows on them: round numbers, decades, zoom and pan."""

from __future__ import annotations

import math

Window = tuple[float, float]
ROUND = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
# How strongly curves are smoothed: the length of the moving average as a share of the whole axis.
STRENGTHS = (0.0, 1 / 100, 1 / 30, 1 / 10)


def round_range(low: float, high: float, keep_low: bool = False, keep_high: bool = False) -> Window:
    """The smallest range of round numbers around low..high, so that the axis moves rarely."""
    if not low < high:
        high = low + (abs(low) or 1.0)
    step = 10.0 ** math.floor(math.log10(high - low))
    step = step / 2 if (high - low) / step < 4 else step
    bottom = low if keep_low else math.floor(low / step) * step
    top = high if keep_high else math.ceil(high / step) * step
    return float(f"{bottom:.12g}"), float(f"{top:.12g}")


def log_range(low: float, high: float) -> Window:
    """The same for logarithms: whole decades, or half ones when all lies within one."""
    step = 1.0 if high - low > 1.5 else 0.5
    bottom, top = math.floor(low / step) * step, math.ceil(high / step) * step
    return (bottom, top) if bottom < top else (bottom, bottom + step)


def round_up(value: float) -> float:
    """The next round number at or above a positive value: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12 ..."""
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(float(f"{power * digit:.12g}") for digit in ROUND if power * digit >= value * (1 - 1e-12))


def smoothing_length(strength: int, extent: float) -> float:
    """The length of the moving average for a strength of 0..3, a round number; 0 for none."""
    share = STRENGTHS[strength]
    return round_up(share * extent) if share else 0.0


def zoomed(window: Window, around: float, factor: float, extent: float, smallest: float) -> Window:
    """A window `factor` times as wide in which `around` keeps its place, within 0..extent and not below `smallest`."""
    start, stop = window
    width = min(extent, max(smallest, (stop - start) * factor))
    share = (min(stop, max(start, around)) - start) / (stop - start)
    return placed(min(stop, max(start, around)) - share * width, width, extent)


def panned(window: Window, by: float, extent: float) -> Window:
    """The window moved by a share of its width, within 0..extent."""
    start, stop = window
    return placed(start + by * (stop - start), stop - start, extent)


def placed(start: float, width: float, extent: float) -> Window:
    """A window of this width that begins at `start`, pushed into 0..extent."""
    start = max(0.0, min(start, extent - width))
    return start, min(extent, start + width)
