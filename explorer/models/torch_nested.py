"""Pickles that lie inside another archive, such as the sample inputs of a .pt2: which names they hold, without loading them."""

import pickle
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models.archive import Archive, opened
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.torch_legacy import LEGACY_OBJECT
from explorer.models.torch_zip import pickled_in

ZIP_MAGIC = b"PK\3\4"
PICKLE_MAGIC = b"\x80"
LEGACY_LENGTH_BYTES = 15


def read_nested(archive: Archive, name: str, legacy_magic: bytes) -> Described | None:
    """The object in a member that torch.save or pickle wrote; None when it is neither. Raises `ExplorerError` when damaged."""
    with archive.stream(name) as stream:
        head = stream.read(LEGACY_LENGTH_BYTES)
        stream.seek(0)
        if head.startswith(ZIP_MAGIC):
            with opened(Path(f"{archive.path}:{name}"), stream) as inner:
                return pickled_in(inner)
        if not head.startswith(PICKLE_MAGIC):
            return None
        try:
            for _ in range(LEGACY_OBJECT if head.startswith(legacy_magic) else 0):
                read_pickle(stream)
            return read_pickle(stream)
        except pickle.UnpicklingError as error:
            raise ExplorerError(f"{archive.path}: {name} is damaged ({error})", "fetch or save it again") from None
