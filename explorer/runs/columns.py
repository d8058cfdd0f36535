"""What a reader gives: columns of one metric each, in the order of the log."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# The largest step that float64 holds exactly, since axes are float64.
STEP_LIMIT = 2**53


@dataclass(frozen=True, slots=True)
class Column:
    """Points of one metric: `steps` int64, `values` and `times` (Unix seconds, NaN where unknown) float64, all of one length."""

    steps: Integers
    values: Floats
    times: Floats

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Batch:
    """The next part of a log. `restarted`: all before is void. `cut`: first of all, what lies beyond that step is void."""

    columns: dict[str, Column] = field(default_factory=dict)
    cut: int | None = None
    restarted: bool = False


def column(steps: Iterable[int] | Integers, values: Iterable[float] | Floats, times: Iterable[float] | Floats) -> Column:
    """A column from any sequences; times of Unix zero count as unknown."""
    known = np.asarray(times, np.float64)
    return Column(np.asarray(steps, np.int64), np.asarray(values, np.float64), np.where(known == 0.0, np.nan, known))


def joined(parts: list[Column]) -> Column:
    """Columns of one metric, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Column(
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.times for part in parts]),
    )
