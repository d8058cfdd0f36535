"""Pickles in a bare file: what `torch.save` wrote before version 1.6, and plain pickles of tensors.

torch's file is five pickles (magic, protocol, system, object, storage keys), then the storages; the first four are read.
"""

import pickle
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.torch_tensors import result_of
from explorer.schemas.results import InspectResult

OBJECT = 3


def describe(path: Path) -> InspectResult:
    """A torch.save file of before 1.6."""
    return result_of(path, _nth_pickle(path, OBJECT), "torch_legacy", "torch.save before 1.6")


def describe_plain(path: Path) -> InspectResult:
    """A pickle that torch did not write."""
    return result_of(path, _nth_pickle(path, 0), "pickle", "plain pickle")


def _nth_pickle(path: Path, index: int) -> Described:
    try:
        with path.open("rb") as stream:
            for _ in range(index):
                read_pickle(stream)
            return read_pickle(stream)
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{path} is damaged or no pickle of tensors ({error})", "fetch or save it again") from None
