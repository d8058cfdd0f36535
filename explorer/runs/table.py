"""Rows of a log, whatever its format, made into columns of metrics."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from explorer.runs.axis import RowAxis
from explorer.runs.columns import Batch, Column, Floats, Integers
from explorer.runs.fields import (
    EARLIEST_S,
    EPOCH_NAMES,
    PART_NAMES,
    STEP_NAMES,
    TAG_NAMES,
    TIME_NAMES,
    VALUE_NAMES,
    first_of,
    is_step_like,
    unix_seconds,
)


@dataclass(slots=True)
class Table:
    """`count` rows. `numbers`: by name, the rows that have a number (None: all) and the numbers; `texts`: the words by row."""

    count: int
    numbers: dict[str, tuple[Integers | None, Floats]] = field(default_factory=dict)
    texts: dict[str, dict[int, str]] = field(default_factory=dict)

    def dense(self, name: str | None) -> Floats | None:
        """A column with a value for each row, NaN where it has none; None without a name."""
        if name is None or name not in self.numbers:
            return None if name is None else np.full(self.count, np.nan)
        places, values = self.numbers[name]
        if places is None:
            return values
        full = np.full(self.count, np.nan)
        full[places] = values
        return full


def batch_of(table: Table, axis: RowAxis) -> Batch:
    """The metrics of a table. Raises `NotAnAxis` when its steps count nothing."""
    step = axis.known_name("step", first_of(table.numbers, STEP_NAMES))
    epoch = axis.known_name("epoch", first_of(table.numbers, EPOCH_NAMES))
    time_name, times = _times(table)
    steps = axis.steps(table.dense(step), table.dense(epoch), table.count)
    by_epoch = step is None and epoch is not None
    columns: dict[str, Column] = {}
    for name, (places, values) in _metrics(table, time_name).items():
        index = np.arange(table.count) if places is None else places
        if by_epoch:
            axis.check_repeats(name, steps[index])
        columns[name] = Column(steps[index], values, times[index])
    return Batch(columns)


def _times(table: Table) -> tuple[str | None, Floats]:
    """Unix seconds of each row, and the column that tells them."""
    for wanted in TIME_NAMES:
        name = first_of([*table.numbers, *table.texts], (wanted,))
        times = _times_in(table, name) if name is not None else None
        if times is not None and np.isfinite(times).any():
            return name, times
    return None, np.full(table.count, np.nan)


def _times_in(table: Table, name: str) -> Floats:
    numbers = table.dense(name) if name in table.numbers else None
    if numbers is not None and (finite := numbers[np.isfinite(numbers)]).size and finite.min() >= EARLIEST_S:
        scale = float(finite[0]) / unix_seconds(float(finite[0]))
        return np.asarray(numbers / scale, np.float64)
    times = np.full(table.count, np.nan)
    for row, text in table.texts.get(name, {}).items():
        times[row] = unix_seconds(text)
    return times


def _metrics(table: Table, time_name: str | None) -> dict[str, tuple[Integers | None, Floats]]:
    """Columns that are neither steps nor times, parted by what a column of words says (train, val) and by tags."""
    value, tag = first_of(table.numbers, VALUE_NAMES), first_of(table.texts, TAG_NAMES)
    part = first_of(table.texts, PART_NAMES)
    metrics: dict[str, tuple[Integers | None, Floats]] = {}
    for name, (places, values) in table.numbers.items():
        if name == time_name or is_step_like(name):
            continue
        by_tag = name == value and tag is not None
        labels = _labels(table, name, part, tag if by_tag else None)
        metrics.update(_parted(name, places, values, labels) if labels else {name: (places, values)})
    return metrics


def _labels(table: Table, name: str, part: str | None, tag: str | None) -> dict[int, str]:
    """By row, what a value of this column is called; empty when by the column alone."""
    parts = table.texts.get(part, {}) if part is not None else {}
    tags = table.texts.get(tag, {}) if tag is not None else {}
    rows = parts.keys() | tags.keys()
    return {row: "/".join(filter(None, [parts.get(row, ""), tags.get(row, name)])) for row in rows}


def _parted(
    name: str, places: Integers | None, values: Floats, labels: dict[int, str]
) -> dict[str, tuple[Integers | None, Floats]]:
    rows = np.arange(len(values)) if places is None else places
    words: npt.NDArray[np.str_] = np.array([labels.get(row, name) for row in rows.tolist()], np.str_)
    return {str(word): (rows[words == word], values[words == word]) for word in np.unique(words)}
