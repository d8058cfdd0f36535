"""Samples from a .npz file, in the names that people store them under. Nothing in the file is ever unpickled."""

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from explorer.datasets.arrays import dataset
from explorer.datasets.dataset import Array, Dataset, Parts, shape_words
from explorer.datasets.memory import check_room
from explorer.datasets.options import task, validation_share
from explorer.datasets.split import split
from explorer.errors import ExplorerError
from explorer.schemas.data_source import DataSource

INPUTS = frozenset({"x", "input", "inputs", "image", "images", "data", "feature", "features"})
TARGETS = frozenset({"y", "target", "targets", "label", "labels"})
TRAIN = frozenset({"train", "training"})
HELD_OUT = (frozenset({"val", "valid", "validation"}), frozenset({"test", "testing"}))  # the first that is there
REMEDY = "name them x and y, inputs and targets, or x_train, y_train, x_test and y_test"
BROKEN = (OSError, ValueError, EOFError, KeyError, SyntaxError, NotImplementedError, MemoryError, zipfile.BadZipFile, zlib.error)


def read_npz(path: Path, source: DataSource) -> Parts:
    """Samples of the file; its own held-out ones go before a share of the training ones."""
    arrays = arrays_of(path)
    name, wanted = str(path), task(source)
    train = pair_of(arrays, TRAIN) or pair_of(arrays, frozenset())
    if train is None:
        raise ExplorerError(f"{path} holds {', '.join(arrays) or 'nothing'}: which are the inputs and targets?", REMEDY)
    whole = dataset(name, *train, wanted)
    if validation_share(source) == 0:
        return Parts(whole, None)
    own = next((found for words in HELD_OUT if (found := pair_of(arrays, words))), None)
    if own is None:
        return split(whole, validation_share(source))
    return with_own(whole, dataset(f"the held-out part of {name}", *own, wanted, whole.class_names))


def with_own(train: Dataset, held_out: Dataset) -> Parts:
    """Training samples with held-out ones that came with them; raises `ExplorerError` when they are of another kind."""
    if train.inputs.shape[1:] != held_out.inputs.shape[1:]:
        words = [shape_words(part.inputs.shape[1:]) for part in (train, held_out)]
        raise ExplorerError(
            f"{train.name}: training samples are {words[0]}, held-out ones {words[1]}",
            "give both the same shape",
        )
    if (train.classes is None) != (held_out.classes is None):
        raise ExplorerError(f"{train.name} has classes in one part and values in the other", "store both as integers or floats")
    classes = train.classes if train.classes is None else max(train.classes, held_out.classes or 0)
    names = train.class_names
    return Parts(
        Dataset(train.name, train.inputs, train.targets, classes, names),
        Dataset(train.name, held_out.inputs, held_out.targets, classes, names),
    )


def arrays_of(path: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [item.filename for item in archive.infolist()]
            check_room(2 * sum(item.file_size for item in archive.infolist()), str(path), "store fewer samples, or smaller ones")
        with np.load(path, allow_pickle=False) as content:
            return {key: content[key] for key in content.files if f"{key}.npy" in names}
    except BROKEN as error:
        if "allow_pickle" in str(error):
            raise ExplorerError(f"{path} holds pickled objects, which could run code", "store plain arrays of numbers") from None
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ExplorerError(f"{path} cannot be read as .npz ({reason})", "write it with numpy.savez") from None


def pair_of(arrays: Mapping[str, Array], part: frozenset[str]) -> tuple[Array, Array] | None:
    """The one pair of arrays whose names say inputs and targets of the part (any of its words; no word: of none)."""
    inputs, targets = (_only(arrays, role, part) for role in (INPUTS, TARGETS))
    return None if inputs is None or targets is None else (inputs, targets)


def _only(arrays: Mapping[str, Array], role: frozenset[str], part: frozenset[str]) -> Array | None:
    """The array whose name is a word of the role and, where there is one, a word of the part: "x_train", "trainX"."""
    for key, array in arrays.items():
        words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", key)}
        if len(words & role) == 1 and len(words & part) == bool(part) and len(words) == 1 + bool(part):
            return array
    return None
