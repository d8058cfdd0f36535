"""Some samples of data that code makes, in memory: for calibration and checks, which need no more."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from explorer.datasets import arrays
from explorer.datasets.dataset import Dataset, Parts
from explorer.datasets.made import FACTORY_SEED, Made, kind_of, labels_of
from explorer.datasets.memory import check_room
from explorer.datasets.random_stream import RandomStream
from explorer.errors import ExplorerError
from explorer.models.user_code import blamed

MOST_SAMPLES = 10_000


def parts_of(given: Made) -> Parts:
    """At most 10,000 samples of each part: spread evenly over a map-style data set, the first ones of a loader."""
    held_out = None if given.held_out is None else sampled(given.name, given.held_out)
    train = sampled(given.name, given.train)
    if held_out is None or train.classes is None or held_out.classes is None:
        return Parts(train, held_out)
    classes = max(train.classes, held_out.classes)
    return Parts(*(Dataset(one.name, one.inputs, one.targets, classes, one.class_names) for one in (train, held_out)))


def sampled(name: str, data: Any) -> Dataset:
    """Samples of one part as arrays. Raises `ExplorerError` when they are no pairs of numbers, or do not stack."""
    if isinstance(data, Dataset):
        return data
    with RandomStream(FACTORY_SEED), blamed(f"the data of {name} failed"):
        inputs, targets = _stacked(name, list(_pairs(name, data)))
    found = arrays.dataset(name, inputs, targets)
    names = class_names(data)
    if found.classes is None:
        return found
    return Dataset(name, found.inputs, found.targets, max(found.classes, class_count(data) or 0), names)


def class_count(data: Any) -> int | None:
    """How many classes a user's data says it has, by its names of them or by its list of targets."""
    if names := class_names(data):
        return len(names)
    labels = labels_of(getattr(data, "dataset", data)) if hasattr(data, "batch_sampler") else labels_of(data)
    return None if labels is None or not len(labels) else int(labels.max()) + 1


def class_names(data: Any) -> tuple[str, ...]:
    """The `classes` of a data set, or of the one that it wraps, where they are names."""
    for _ in range(4):
        names = getattr(data, "classes", None)
        if isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(name, str) for name in names):
            return tuple(names)
        data = getattr(data, "dataset", None)
    return ()


def _pairs(name: str, data: Any) -> Iterator[tuple[Any, Any]]:
    """Batches of inputs and targets until there are enough."""
    count = 0
    for batch in _batches(data):
        if not (isinstance(batch, list | tuple) and len(batch) == 2):
            raise ExplorerError(
                f"{name} gives a {type(batch).__name__}, not pairs of inputs and targets", "name other data with --data"
            )
        inputs, targets = (torch.as_tensor(item) for item in batch)
        if not count:
            check_room(
                inputs.element_size() * inputs[0].numel() * MOST_SAMPLES,
                f"{MOST_SAMPLES:,} samples of {name}",
                "make samples smaller",
            )
        count += len(inputs)
        yield inputs, targets
        if count >= MOST_SAMPLES:
            return


def _batches(data: Any) -> Iterable[Any]:
    kind = kind_of(data)
    if kind == "map":
        count = min(len(data), MOST_SAMPLES)
        positions = np.linspace(0, len(data) - 1, count).astype(int).tolist()
        return (default_collate([data[position]]) for position in positions)
    if kind == "samples":
        return (default_collate([sample]) for sample in data)
    return data  # type: ignore[no-any-return] # an iterable of batches


def _stacked(name: str, pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
    if not pairs:
        raise ExplorerError(f"{name} gives no samples", "give some")
    inputs, targets = zip(*pairs, strict=True)
    shapes = {tuple(item.shape[1:]) for item in inputs}
    if len(shapes) > 1:
        raise ExplorerError(
            f"{name} gives samples of shapes {' and '.join(map(str, sorted(shapes)[:2]))}", "give all the same shape"
        )
    return torch.cat(inputs)[:MOST_SAMPLES], torch.cat(targets)[:MOST_SAMPLES]
