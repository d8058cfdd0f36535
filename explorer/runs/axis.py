"""Which number of a row counts its steps: a step column, else the epoch, else the row itself.

A step that begins again in each epoch, an epoch that rows of one metric share, and a fraction count nothing; then rows do.
"""

import numpy as np

from explorer.runs.columns import STEP_LIMIT, Floats, Integers


class NotAnAxis(Exception):
    """The column does not count steps; read the log again with rows as steps, or by the step column that is named."""

    def __init__(self, step_name: str | None = None) -> None:
        self.step_name = step_name


class RowAxis:
    """Steps of consecutive parts of one log. Raises `NotAnAxis` when the column proves unfit; then use one made with `by_row`."""

    def __init__(self, *, by_row: bool = False, step_name: str | None = None) -> None:
        self.by_row = by_row
        self._rows = 0
        self._last_step: float | None = None
        self._last_epoch: float | None = None
        self._last_epoch_of: dict[str, float] = {}
        self._names: dict[str, str] = {"step": step_name} if step_name is not None else {}

    def known_name(self, kind: str, name: str | None) -> str | None:
        """The column's name as found first, which a later part may lack. A step found after epochs were used begins again."""
        if kind not in self._names and name is not None:
            if kind == "step" and self._last_step is not None and not self.by_row:
                raise NotAnAxis(name)
            self._names[kind] = name
        return self._names.get(kind)

    def steps(self, steps: Floats | None, epochs: Floats | None, count: int) -> Integers:
        """The steps of the next `count` rows; a row that misses its step has the one before."""
        rows = np.arange(self._rows, self._rows + count)
        self._rows += count
        chosen = steps if steps is not None else epochs
        if self.by_row or chosen is None:
            return rows
        filled = _filled(chosen, self._last_step if self._last_step is not None else 0.0)
        if ((filled != np.floor(filled)) | (np.abs(filled) > STEP_LIMIT)).any():
            raise NotAnAxis
        if steps is not None and epochs is not None:
            self._check_epochs(filled, _filled(epochs, self._last_epoch if self._last_epoch is not None else -np.inf))
        if count:
            self._last_step = float(filled[-1])
        return filled.astype(np.int64)

    def check_repeats(self, name: str, epochs: Integers) -> None:
        """One metric twice in a row for one epoch: then epochs count nothing."""
        if self.by_row or not len(epochs):
            return
        before = self._last_epoch_of.get(name)
        if before == epochs[0] or (epochs[1:] == epochs[:-1]).any():
            raise NotAnAxis
        self._last_epoch_of[name] = float(epochs[-1])

    def _check_epochs(self, steps: Floats, epochs: Floats) -> None:
        """A step that falls while the epoch rises is counted within its epoch."""
        if not len(steps):
            return
        all_steps = steps if self._last_step is None else np.append(self._last_step, steps)
        all_epochs = epochs if self._last_epoch is None else np.append(self._last_epoch, epochs)
        with np.errstate(invalid="ignore"):
            if ((np.diff(all_steps) < 0) & (np.diff(all_epochs) > 0) & np.isfinite(all_epochs[:-1])).any():
                raise NotAnAxis
        self._last_epoch = float(epochs[-1])


def _filled(values: Floats, before: float) -> Floats:
    """NaN and infinities replaced by the value before them."""
    known = np.isfinite(values)
    if known.all():
        return values
    last_known = np.maximum.accumulate(np.where(known, np.arange(1, len(values) + 1), 0))
    return np.asarray(np.append(before, values)[last_known], np.float64)
