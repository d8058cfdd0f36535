"""Plain arrays made into samples: dtypes that models take, and what the targets are."""

from typing import Any

import numpy as np

from explorer.datasets.dataset import Array, Dataset
from explorer.datasets.options import Task
from explorer.errors import ExplorerError

PIXEL_MAX = 255.0


def dataset(name: str, inputs: Any, targets: Any, task: Task | None = None, names: tuple[str, ...] = ()) -> Dataset:
    """Arrays with a row for each sample, as a data set.

    Inputs: uint8 is scaled to 0..1, other integers become int64 (indices, such as tokens), all else float32.
    Targets: integers, booleans and text are classes (text in the order of `names`, or alphabetical), other numbers are values;
    `task` overrides.
    """
    inputs, targets = _array(inputs), _array(targets)
    _check_lengths(name, inputs, targets)
    if _is_text(targets):
        return _named(name, inputs, _flat(targets).astype(np.str_), task, names)
    _check_numbers(name, targets, "targets")
    whole = targets.dtype.kind in "iub"
    if task == "regression" or (task is None and not whole):
        return Dataset(name, as_inputs(name, inputs), _values(targets), None)
    if not whole and not bool(np.all(targets == np.floor(targets))):
        raise ExplorerError(f"{name}: the targets are no whole numbers, so no classes", "leave task=classification out")
    labels = np.ascontiguousarray(_flat(targets).astype(np.int64))
    return Dataset(name, as_inputs(name, inputs), labels, max(1, int(labels.max()) + 1))


def as_inputs(name: str, inputs: Array) -> Array:
    """Inputs in a dtype that models take, in memory that torch may share."""
    _check_numbers(name, inputs, "inputs")
    if inputs.dtype == np.uint8:
        return np.divide(inputs, np.float32(PIXEL_MAX), dtype=np.float32)
    wanted = np.int64 if inputs.dtype.kind in "iu" else np.float32
    return np.require(inputs, wanted, ["C", "W", "A"])


def _array(value: Any) -> Array:
    """A numpy array of a tensor on any device, or of whatever numpy takes."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    return np.asarray(value)


def _check_lengths(name: str, inputs: Array, targets: Array) -> None:
    if inputs.ndim == 0 or targets.ndim == 0:
        raise ExplorerError(f"{name} holds single numbers, not an array with a row for each sample", "store samples in rows")
    if len(inputs) != len(targets):
        raise ExplorerError(f"{name} has {len(inputs):,} inputs and {len(targets):,} targets", "give a target for each input")
    if not len(inputs):
        raise ExplorerError(f"{name} has no samples", "give some")
    if 0 in inputs.shape:
        raise ExplorerError(f"{name} has samples of shape {inputs.shape[1:]}, which hold nothing", "give some numbers")


def _check_numbers(name: str, array: Array, what: str) -> None:
    if array.dtype.kind not in "iubf":
        raise ExplorerError(f"{name}: the {what} are {array.dtype}, not numbers", "store them as floats or integers")


def _is_text(array: Array) -> bool:
    return array.dtype.kind in "US"


def _named(name: str, inputs: Array, targets: Array, task: Task | None, names: tuple[str, ...]) -> Dataset:
    if task == "regression":
        raise ExplorerError(f"{name}: the targets are text, not numbers", "leave task=regression out")
    found, labels = np.unique(targets, return_inverse=True)
    names = names or tuple(str(item) for item in found)
    unknown = set(found.tolist()) - set(names)
    if unknown:
        raise ExplorerError(f"{name} has the class {min(unknown)!r}, which is not among the training samples", "add it there")
    numbers = np.array([names.index(str(item)) for item in found], dtype=np.int64)
    return Dataset(name, as_inputs(name, inputs), numbers[labels], len(names), names)


def _flat(targets: Array) -> Array:
    """Classes in one dimension where they stand in a column."""
    return targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets


def _values(targets: Array) -> Array:
    """float32 (N, outputs)."""
    return np.require(targets[:, None] if targets.ndim == 1 else targets, np.float32, ["C", "W", "A"])
