"""What `torch.save` writes since version 1.6: a zip archive with `data.pkl` and one member a storage."""

import pickle
from pathlib import Path
from typing import NamedTuple

from explorer.errors import ExplorerError
from explorer.models.archive import Archive, opened
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.torch_tensors import result_of
from explorer.schemas.model_results import InspectResult


class Saved(NamedTuple):
    """The pickle of an archive as stand-ins, and the bytes that it holds of each storage."""

    described: Described
    held: dict[str, int]


def describe(path: Path) -> InspectResult:
    """State dict, checkpoint or whole module; storages are not read."""
    saved = read_saved(path)
    return result_of(path, saved.described, "torch_zip", "torch.save zip", saved.held)


def read_data(path: Path) -> Described:
    """The archive's `data.pkl` as stand-ins."""
    return read_saved(path).described


def read_saved(path: Path) -> Saved:
    """`data.pkl` as stand-ins, and which storages are there."""
    with opened(path) as archive:
        return Saved(pickled_in(archive), archive.below("data/"))


def pickled_in(archive: Archive, inner: str = "data.pkl") -> Described:
    """A pickle of an open archive as stand-ins. Raises `ExplorerError` when it is not there or damaged."""
    name = archive.find(inner)
    if name is None:
        raise ExplorerError(f"{archive.path} lacks {inner}", "fetch or save it again")
    try:
        with archive.stream(name) as stream:
            return read_pickle(stream)
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{archive.path} is damaged ({error})", "fetch or save it again") from None
