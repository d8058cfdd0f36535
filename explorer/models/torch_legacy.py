"""Pickles in a bare file: what `torch.save` wrote before version 1.6, and plain pickles of tensors.

torch's file is five pickles (magic, protocol, system, object, storage keys), then the storages; the first four are read.
"""

import pickle
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.torch_tensors import result_of
from explorer.schemas.model_results import InspectResult

LEGACY_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # a pickled integer that torch.save wrote before version 1.6
LEGACY_OBJECT = 3
COUNT_BYTES = 8  # stands before each storage


def describe(path: Path) -> InspectResult:
    """A torch.save file of before 1.6."""
    described, keys, start = _object_and_keys(path)
    result = result_of(path, described, "torch_legacy", "torch.save before 1.6")
    size = path.stat().st_size
    needed = start + result.metadata["storage_bytes"] + COUNT_BYTES * len(keys)
    if keys and needed > size:
        raise ExplorerError(f"{path} is cut off: its tensors end at byte {needed} of {size}", "fetch or save it again")
    return result


def describe_plain(path: Path) -> InspectResult:
    """A pickle that torch did not write."""
    return result_of(path, nth_pickle(path, 0), "pickle", "plain pickle")


def _object_and_keys(path: Path) -> tuple[Described, list[str], int]:
    """The saved object, the keys of the storages that follow, and where they begin."""
    try:
        with path.open("rb") as stream:
            described = [read_pickle(stream) for _ in range(LEGACY_OBJECT + 1)][LEGACY_OBJECT]
            keys = read_pickle(stream).value
            return described, keys if isinstance(keys, list) else [], stream.tell()
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{path} is damaged or no pickle of tensors ({error})", "fetch or save it again") from None


def nth_pickle(path: Path, index: int) -> Described:
    """The pickle behind `index` others in a file."""
    try:
        with path.open("rb") as stream:
            for _ in range(index):
                read_pickle(stream)
            return read_pickle(stream)
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{path} is damaged or no pickle of tensors ({error})", "fetch or save it again") from None
