"""Data that code makes: `file.py:factory` gives data sets, loaders, batches or arrays, for training and validation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset
from torch.utils.data import Dataset as TorchDataset

from explorer.datasets import arrays
from explorer.datasets.dataset import Dataset
from explorer.datasets.npz_file import with_own
from explorer.datasets.options import check_options, task, validation_share
from explorer.datasets.random_stream import RandomStream
from explorer.datasets.split import held_out_positions, others, split
from explorer.errors import ExplorerError
from explorer.models.factories import called
from explorer.models.source_text import parse_source
from explorer.schemas.data_source import DataSource

Kind = Literal["arrays", "map", "samples", "batches"]
KINDS = "a torch Dataset, a DataLoader, batches that can be gone through again, a pair (inputs, targets), or two of these"
FACTORY_SEED = 0
NO_SAMPLES = (list, tuple, Mapping, str, bytes)
PARTS = ("train", "validation")


@dataclass(frozen=True)
class Made:
    """What a factory gave: `train` and `held_out` (None: nothing) are a `Dataset` in memory, or torch's or the user's own.

    `shared_out` is true when the factory was told rank and size, so that it gives each process its own samples.
    """

    name: str
    train: Any
    held_out: Any
    shared_out: bool


def is_factory(source: DataSource) -> bool:
    """Whether the name is code, not a file."""
    if source.name.endswith(".py"):
        return True
    return parse_source(source.name) is not None and not Path(source.name).expanduser().exists()


def made(source: DataSource, rank: int = 0, size: int = 1) -> Made:
    """Call the factory, with a fixed seed in all generators, and sort out what it gave.

    Raises `ExplorerError` for what cannot be trained on. A single data set is split; loaders and batches are not.
    """
    check_options(source, "task", "validation")
    ranks = {"rank": rank, "size": size}
    with RandomStream(FACTORY_SEED):
        given, told = called(source.name, ranks)
    train, held_out = two_of(given, source.name)
    train, held_out = _sorted(train, source), None if held_out is None else _sorted(held_out, source)
    if validation_share(source) == 0:
        held_out = None
    elif held_out is None:
        train, held_out = _split(train, source)
    elif isinstance(train, Dataset) and isinstance(held_out, Dataset):
        train, held_out = with_own(train, held_out)
    return Made(source.name, train, held_out, told == set(ranks))


def kind_of(value: Any) -> Kind:
    """How samples come out of it. Raises `ExplorerError` when they do not, or only once."""
    if isinstance(value, Dataset):
        return "arrays"
    if isinstance(value, DataLoader):
        return "batches"
    if isinstance(value, IterableDataset):
        return "samples"
    if isinstance(value, TorchDataset) or (_has(value, "__getitem__", "__len__") and not isinstance(value, NO_SAMPLES)):
        return "map"
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        if iter(value) is value:
            raise ExplorerError(
                f"the data is a {type(value).__name__}, which can be gone through only once",
                "give a list, or an object whose __iter__ starts afresh",
            )
        return "batches"
    raise ExplorerError(f"the data is a {type(value).__name__}", f"give {KINDS}")


def two_of(given: Any, name: str) -> tuple[Any, Any]:
    """Training and validation data; None where there is but one."""
    if isinstance(given, Mapping):
        if "train" not in given or set(given) - set(PARTS):
            raise ExplorerError(
                f"{name} gave a dict of {', '.join(map(str, given)) or 'nothing'}", "its keys are train and validation"
            )
        return given["train"], given.get("validation")
    if isinstance(given, tuple) and len(given) == 2 and not is_pair(given):
        return given
    return given, None


def is_pair(value: Any) -> bool:
    """Whether it is inputs and targets as arrays."""
    return (
        isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(item, np.ndarray | torch.Tensor) for item in value)
    )


def _sorted(value: Any, source: DataSource) -> Any:
    """Arrays and tensors as a `Dataset` in memory, all else as it is."""
    pair = value if is_pair(value) else _tensors(value)
    if pair is not None:
        return arrays.dataset(source.name, pair[0], pair[1], task(source))
    if isinstance(value, np.ndarray | torch.Tensor):
        raise ExplorerError(f"{source.name} gave one {type(value).__name__}", "give a pair of inputs and targets")
    try:
        kind_of(value)
    except ExplorerError as error:
        raise ExplorerError(f"{source.name}: {error.message}", error.remedy) from None
    if "task" in source.options:
        raise ExplorerError(f"{source}: task= has no part in a {type(value).__name__}", "its own targets say it; leave it out")
    return value


def _tensors(value: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The tensors of a plain `TensorDataset` of two, or of some of its samples; None for anything else."""
    if type(value) is TensorDataset and len(value.tensors) == 2:
        return value.tensors[0], value.tensors[1]
    if type(value) is Subset and (whole := _tensors(value.dataset)) is not None:
        positions = torch.as_tensor(value.indices)
        return whole[0][positions], whole[1][positions]
    return None


def _split(train: Any, source: DataSource) -> tuple[Any, Any]:
    share = validation_share(source)
    if isinstance(train, Dataset):
        return split(train, share)
    if kind_of(train) == "map":
        return _split_map(train, share)
    if "validation" in source.options:
        raise ExplorerError(f"{source}: a {type(train).__name__} cannot be split", "let the factory give (train, validation)")
    return train, None


def _split_map(train: Any, share: float) -> tuple[Any, Any]:
    """Two subsets, with the same share of each class where the data set lists its targets."""
    held_out = held_out_positions(len(train), share, labels_of(train))
    if not len(held_out):
        return train, None
    return Subset(train, others(len(train), held_out).tolist()), Subset(train, held_out.tolist())


def labels_of(data: Any) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """The class of every sample where a map-style data set lists them as `targets` or `labels`, as torchvision's do."""
    if isinstance(data, Subset):
        whole = labels_of(data.dataset)
        return None if whole is None else whole[np.asarray(data.indices)]
    for name in ("targets", "labels"):
        try:
            found = np.asarray(getattr(data, name, None))
        except (ValueError, TypeError, RuntimeError):
            continue
        if found.dtype.kind in "iu" and found.shape == (len(data),):
            return found.astype(np.int64)
    return None


def _has(value: Any, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)
