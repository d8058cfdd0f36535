"""The target column of a table: class names, class numbers or values."""

import numpy as np

from explorer.datasets.dataset import Array, Dataset
from explorer.datasets.options import Task
from explorer.errors import ExplorerError

# Whole numbers with more different values than this are taken for amounts, unless the task is said.
MOST_CLASSES = 20


class CodedText:
    """Numbers text by first appearance; `names` are in that order."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text.strip(), len(self._numbers))

    @property
    def names(self) -> list[str]:
        return list(self._numbers)


def table(name: str, rows: Array, target: int, names: list[str], task: Task | None) -> Dataset:
    """Rows (N, columns) as samples; `names` of the target's codes where it was text.

    Without a `task`, whole numbers of at most 20 different values are classes, and all else is a value to predict.
    """
    inputs = np.ascontiguousarray(np.delete(rows, target, axis=1))
    column = rows[:, target]
    if names:
        return _from_text(name, inputs, column, names, task)
    if task == "regression" or (task is None and not _few_whole(column)):
        return Dataset(name, inputs, np.ascontiguousarray(column[:, None]), None)
    if not np.isfinite(column).all() or (column != np.floor(column)).any():
        raise ExplorerError(f"{name}: the target holds fractions, so no classes", "leave task=classification out")
    return _from_numbers(name, inputs, column.astype(np.int64))


def _few_whole(column: Array) -> bool:
    if not np.isfinite(column).all() or (column != np.floor(column)).any():
        return False
    return len(np.unique(column)) <= MOST_CLASSES


def _from_numbers(name: str, inputs: Array, column: Array) -> Dataset:
    """Classes from 0 as they are; others numbered in order, with their own numbers as names."""
    found, numbered = np.unique(column, return_inverse=True)
    if found[0] == 0 and found[-1] < 2 * len(found):
        return Dataset(name, inputs, column, int(found[-1]) + 1)
    return Dataset(name, inputs, numbered.astype(np.int64), len(found), tuple(str(item) for item in found))


def _from_text(name: str, inputs: Array, column: Array, names: list[str], task: Task | None) -> Dataset:
    """Classes in alphabetical order of their names."""
    if task == "regression":
        raise ExplorerError(
            f"{name}: the target is text, such as {names[0][:40]!r}", "leave task=regression out, or name another target="
        )
    if "" in names:
        raise ExplorerError(
            f"{name}: the target is missing in {int((column == names.index('')).sum()):,} rows", "fill or remove them"
        )
    if len(names) > max(MOST_CLASSES, len(column) // 2):
        raise ExplorerError(
            f"{name}: the target holds {len(names):,} different texts in {len(column):,} rows, too many for classes",
            "name another target=",
        )
    ordered = sorted(names)
    places = {item: place for place, item in enumerate(ordered)}
    numbers = np.array([places[item] for item in names], dtype=np.int64)
    return Dataset(name, inputs, numbers[column.astype(np.int64)], len(names), tuple(ordered))
