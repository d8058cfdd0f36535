"""Curves of a run for a chart: a stretch of an axis, thinned."""

import numpy as np

from explorer.runs.columns import Floats
from explorer.runs.find import Found
from explorer.runs.series import History, Series
from explorer.runs.sources import OpenRun
from explorer.runs.thin import thinned
from explorer.schemas.curves import Curve, CurvesQuery, RunCurves


def answer(source: str, run: OpenRun, query: CurvesQuery) -> RunCurves:
    """What a query asks of one run."""
    history = run.history
    span = history.time_range()
    if query.axis == "time" and span is None and history.series:
        return summary(source, run.found, history, f"{run.found.name} has no times: show it by step")
    names = [name for name in query.names if name in history.series] if query.names else list(history.series)
    origin = span[0] if span else 0.0
    curves = [_within(name, history.series[name], query, origin) for name in names]
    return summary(source, run.found, history, run.problem).model_copy(update={"curves": curves})


def from_point(name: str, series: Series, first: int, points: int) -> Curve:
    """The points of a metric from number `first` on, over steps."""
    return _curve(name, series.steps[first:].astype(np.float64), series.values[first:], series, points)


def summary(source: str, found: Found, history: History, problem: str = "") -> RunCurves:
    """A run without its curves."""
    span = history.time_range()
    return RunCurves(
        source=source,
        name=found.name,
        format=found.format,
        first_time=span[0] if span else None,
        last_time=span[1] if span else None,
        last_step=history.last_step(),
        problem=problem,
    )


def _within(name: str, series: Series, query: CurvesQuery, origin: float) -> Curve:
    xs, ys = _axis(series, query, origin)
    first = 0 if query.start is None else int(np.searchsorted(xs, query.start, side="left"))
    last = len(xs) if query.stop is None else int(np.searchsorted(xs, query.stop, side="right"))
    return _curve(name, xs[first:last], ys[first:last], series, query.points)


def _axis(series: Series, query: CurvesQuery, origin: float) -> tuple[Floats, Floats]:
    if query.axis == "step":
        return series.steps.astype(np.float64), series.values
    known = np.isfinite(series.times)
    # A clock that was set back must not fold the curve.
    return np.maximum.accumulate(series.times[known]) - origin, series.values[known]


def _curve(name: str, xs: Floats, ys: Floats, series: Series, points: int) -> Curve:
    shown = thinned(xs, ys, points)
    last = float(series.values[-1]) if len(series) else None
    return Curve(name=name, xs=xs[shown].tolist(), ys=ys[shown].tolist(), count=len(xs), last=last)
