"""Metrics of a run joined by step, for the formats that hold one row a step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

BLOCK_ROWS = 65_536
STEP, TIME = "step", "time"

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Series(Protocol):
    """One metric: rising steps, each once, with a value and Unix seconds (NaN where the log has none)."""

    @property
    def steps(self) -> Integers: ...
    @property
    def values(self) -> Floats: ...
    @property
    def times(self) -> Floats: ...


@dataclass(frozen=True)
class Rows:
    """Up to `BLOCK_ROWS` steps. `times` is the latest of a step's values; `columns` holds (rows that have one, values)."""

    steps: Integers
    times: Floats
    columns: dict[str, tuple[Integers, Floats]]


def rows(series: Mapping[str, Series]) -> Iterator[Rows]:
    """Every step of any metric, in order, in blocks."""
    if not series:
        return
    steps = np.unique(np.concatenate([item.steps for item in series.values()]))
    for start in range(0, len(steps), BLOCK_ROWS):
        yield _block(steps[start : start + BLOCK_ROWS], series)


def _block(steps: Integers, series: Mapping[str, Series]) -> Rows:
    times = np.full(len(steps), np.nan)
    columns: dict[str, tuple[Integers, Floats]] = {}
    for name, item in series.items():
        first, last = np.searchsorted(item.steps, [steps[0], steps[-1] + 1])
        places = np.searchsorted(steps, item.steps[first:last])
        times[places] = np.fmax(times[places], item.times[first:last])
        columns[name] = (places, item.values[first:last])
    return Rows(steps, times, columns)


def column_name(metric: str) -> str:
    """The metric's own name, unless that would make two columns alike."""
    return f"{metric}_value" if metric in (STEP, TIME) else metric
