"""What `torch.save` writes since version 1.6: a zip archive with `data.pkl` and one member a storage."""

import pickle
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models.archive import opened
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.torch_tensors import result_of
from explorer.schemas.results import InspectResult


def describe(path: Path) -> InspectResult:
    """State dict, checkpoint or whole module; storages are not read."""
    return result_of(path, read_data(path), "torch_zip", "torch.save zip")


def read_data(path: Path) -> Described:
    """The archive's `data.pkl` as stand-ins."""
    with opened(path) as archive:
        name = archive.find("data.pkl")
        data = archive.read(name) if name else b""
    try:
        return read_pickle(data)
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{path} is damaged ({error})", "fetch or save it again") from None
