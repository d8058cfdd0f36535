"""Thinning a curve for a chart so that no peak is lost.

The axis is cut into stretches of equal width; of each the first, lowest, highest and last value stay, which draws the same
pixels as all of them (Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014), and one NaN, so
that gaps stay gaps.
"""

import numpy as np

from explorer.runs.columns import Floats, Integers


def thinned(xs: Floats, ys: Floats, points: int) -> Integers:
    """Which of the values to show, in order: at most `points`, all when they are as few. `xs` never fall."""
    count = len(xs)
    if count <= points:
        return np.arange(count)
    gaps = bool(np.isnan(ys).any())
    starts = _stretches(xs, max(1, points // (5 if gaps else 4)))
    ends = np.append(starts[1:], count)
    kept = [starts, ends - 1, _places_of(np.fmin, ys, starts, ends), _places_of(np.fmax, ys, starts, ends)]
    if gaps:
        kept.append(_first_of(np.isnan(ys), starts, ends))
    return np.unique(np.concatenate(kept))


def _stretches(xs: Floats, wanted: int) -> Integers:
    """Where each stretch that holds anything begins."""
    width = float(xs[-1] - xs[0])
    if not width > 0.0:
        return np.unique(np.linspace(0, len(xs), wanted, endpoint=False).astype(np.int64))
    edges = xs[0] + width * np.arange(wanted) / wanted
    return np.unique(np.append(0, np.searchsorted(xs, edges[1:], side="left"))[: wanted + 1]).clip(0, len(xs) - 1)


def _places_of(extreme: np.ufunc, ys: Floats, starts: Integers, ends: Integers) -> Integers:
    """Where the extreme of each stretch is; stretches of NaN alone have none."""
    extremes = extreme.reduceat(ys, starts)
    return _first_of(ys == np.repeat(extremes, ends - starts), starts, ends)


def _first_of(chosen: "np.ndarray[tuple[int], np.dtype[np.bool_]]", starts: Integers, ends: Integers) -> Integers:
    """The first chosen place in each stretch that has one."""
    places = np.flatnonzero(chosen)
    stretch = np.searchsorted(starts, places, side="right")
    _, first = np.unique(stretch, return_index=True)
    return np.asarray(places[first], np.int64)
