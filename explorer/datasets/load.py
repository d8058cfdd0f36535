"""The data that a text names, in memory."""

import os
from functools import lru_cache
from pathlib import Path

from explorer.datasets.csv_file import ENDINGS as CSV_ENDINGS
from explorer.datasets.csv_file import read_csv
from explorer.datasets.dataset import Dataset, Parts, Split, accuracy
from explorer.datasets.image_folder import read_images
from explorer.datasets.made import is_factory, made
from explorer.datasets.npz_file import read_npz
from explorer.datasets.options import check_options, validation_share
from explorer.datasets.samples import digits, linear
from explorer.datasets.sampling import parts_of
from explorer.errors import ExplorerError
from explorer.home import samples_folder
from explorer.schemas.data_source import DataSource, parse_data_source

__all__ = ["Dataset", "Parts", "Split", "accuracy", "load", "read"]

KINDS = "digits, linear, a .npz or .csv file, a folder of images by class, or file.py:factory"


def load(text: str, split: Split) -> Dataset:
    """The "train" or "test" (held-out) part of the data that `text` names; the same samples on every call and machine.

    Of a factory's data at most 10,000 samples of each part. Raises `ExplorerError` when there is no such part.
    """
    parts = read(text)
    if split == "train":
        return parts.train
    if parts.held_out is None:
        raise ExplorerError(f"{text} has no held-out samples", "give it a validation part, or other data with --data")
    return parts.held_out


def read(text: str) -> Parts:
    """Both parts of the data that `text` names. A file that did not change since the last call is not read again."""
    source = parse_data_source(text)
    if source.is_sample:
        check_options(source, "validation")
        return (digits if source.name == "digits" else linear)(validation_share(source))
    if is_factory(source):
        return parts_of(made(source))
    path = found_file(source)
    return _read(path, str(source), _stamp(path))


@lru_cache(maxsize=1)
def _read(path: Path, text: str, stamp: tuple[int, ...]) -> Parts:
    source = parse_data_source(text)
    if path.is_dir():
        check_options(source, "size", "validation")
        return read_images(path, source)
    if path.name.lower().endswith(".npz"):
        check_options(source, "task", "validation")
        return read_npz(path, source)
    if path.name.lower().endswith(CSV_ENDINGS):
        check_options(source, "target", "task", "validation")
        return read_csv(path, source)
    raise ExplorerError(f"{path} is no data that can be read", f"data is {KINDS}")


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when a file does, or when files come into a folder's folders or go."""
    try:
        items = (
            [path, *(item for item in sorted(path.glob("*")) + sorted(path.glob("*/*")) if item.is_dir())]
            if path.is_dir()
            else [path]
        )
        return tuple(number for item in items for number in (item.stat().st_mtime_ns, item.stat().st_size))
    except OSError:
        return (os.getpid(),)


def found_file(source: DataSource) -> Path:
    """The file or folder, relative to the current folder first, then among the samples."""
    path = Path(source.name).expanduser()
    sample = samples_folder() / source.name.removeprefix("samples/")
    if not path.exists() and source.name.startswith("samples/") and sample.exists():
        path = sample
    if not path.exists():
        raise ExplorerError(f"there is no data {source.name!r}", f"one of {KINDS}")
    if not os.access(path, os.R_OK):
        raise ExplorerError(f"{path} may not be read", "change its permissions")
    return path
