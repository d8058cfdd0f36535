"""Values of `torch.save` files and TorchScript archives: the pickle says where, the storages follow in the file."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.checkpoint import MODEL_KEYS
from explorer.models.dtypes import bytes_of
from explorer.models.stub_pickle import Described, read_pickle
from explorer.models.stubs import Storage, Stub, StubTensor
from explorer.models.tensor_reader.places import AGAIN, FAILURES, Extent, Place, is_big_endian, members
from explorer.models.tensor_reader.stored import StoredTensor
from explorer.models.torch_tensors import contents_of
from explorer.models.torch_zip import read_data

COUNT_BYTES = 8
BIG_ENDIAN = "save it again on a little-endian machine"


def read_zip(path: Path) -> list[StoredTensor]:
    """A zip of torch.save or torch.jit.save; each storage is a member `data/KEY`."""
    inside = members(path)
    _refuse_big_endian(path, is_big_endian(inside))
    places: Mapping[str, Place] = {name.removeprefix("data/"): member for name, member in inside.items()}
    return _placed(path, read_data(path), places)


def read_legacy(path: Path) -> list[StoredTensor]:
    """A file of before torch 1.6: pickles of magic, protocol, system, object and keys, then a count and numbers for each key."""
    try:
        with path.open("rb") as stream:
            system, described, keys = [read_pickle(stream) for _ in range(5)][2:]
            little = system.value.get("little_endian", True) if isinstance(system.value, dict) else True
            _refuse_big_endian(path, not little)
            places = _legacy_places(path, stream, described, [str(key) for key in keys.value])
    except (pickle.UnpicklingError, TypeError, *FAILURES) as error:
        raise ExplorerError(f"{path} is damaged ({error})", AGAIN) from None
    return _placed(path, described, places)


def model_part(path: Path, legacy: bool) -> str:
    """The beginning of the names of a checkpoint's model part, such as `state_dict.`; empty when the file is a state dict."""
    top = _legacy_object(path) if legacy else read_data(path).value
    if isinstance(top, dict):
        return next((f"{key}." for key in MODEL_KEYS if isinstance(top.get(key), dict | Stub)), "")
    return ""


def _legacy_object(path: Path) -> Any:
    try:
        with path.open("rb") as stream:
            return [read_pickle(stream) for _ in range(4)][3].value
    except pickle.UnpicklingError as error:
        raise ExplorerError(f"{path} is damaged ({error})", AGAIN) from None


def _legacy_places(path: Path, stream: BinaryIO, described: Described, keys: list[str]) -> dict[str, Place]:
    storages = _storages(path, described)
    places: dict[str, Place] = {}
    for key in keys:
        count = int.from_bytes(stream.read(COUNT_BYTES), "little")
        storage = storages.get(key)
        if storage is None:
            raise ValueError(f"nothing uses its storage {clean(key, 40)}")
        size = bytes_of(storage.dtype, count)
        places[key] = Extent(path, stream.tell(), size)
        stream.seek(size, 1)
    return places


def _storages(path: Path, described: Described) -> dict[str, Storage]:
    return {tensor.storage.key: tensor.storage for _, tensor in contents_of(described, path).tensors}


def _placed(path: Path, described: Described, places: Mapping[str, Place]) -> list[StoredTensor]:
    return [_stored(name, tensor, places.get(tensor.storage.key)) for name, tensor in contents_of(described, path).tensors]


def _stored(name: str, tensor: StubTensor, place: Place | None) -> StoredTensor:
    return StoredTensor(clean(name), tensor.shape, tensor.dtype, place, tensor.offset, tensor.stride)


def _refuse_big_endian(path: Path, big: bool) -> None:
    if big:
        raise ExplorerError(
            f"{path} was saved on a big-endian machine, and its numbers are read on little-endian ones", BIG_ENDIAN
        )
