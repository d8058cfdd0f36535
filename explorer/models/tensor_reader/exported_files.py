"""Values of `torch.export.save` archives (.pt2): raw storages beside their JSON descriptions; pickled ones are left alone."""

from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean, parse_json
from explorer.models.exported_program import SCALAR_TYPES
from explorer.models.tensor_reader.places import AGAIN, FAILURES, Member, is_big_endian, members
from explorer.models.tensor_reader.stored import StoredTensor, unreadable

KINDS = {"data/weights/": "_weights_config.json", "data/constants/": "_constants_config.json"}


def read(path: Path) -> list[StoredTensor]:
    """Weights, buffers and lifted constants, in the order of the file's tables."""
    inside = members(path)
    try:
        if is_big_endian(inside):
            raise ExplorerError(f"{path} was saved on a big-endian machine", "save it again on a little-endian machine")
        return [
            _stored(clean(name), entry, inside, folder)
            for folder, ending in KINDS.items()
            for table in sorted(item for item in inside if item.startswith(folder) and item.endswith(ending))
            for name, entry in parse_json(inside[table].content()).get("config", {}).items()
            if isinstance(entry, dict) and entry.get("tensor_meta")
        ]
    except (KeyError, TypeError, AttributeError, *FAILURES) as error:
        raise ExplorerError(
            f"{path} is not laid out as torch.export writes it ({error})", "save it again with this torch"
        ) from None


def _stored(name: str, entry: dict[str, Any], inside: dict[str, Member], folder: str) -> StoredTensor:
    meta = entry["tensor_meta"]
    shape, strides = _integers(meta["sizes"]), _integers(meta["strides"])
    dtype = SCALAR_TYPES.get(meta["dtype"], "unknown")
    if entry.get("use_pickle"):
        return unreadable(
            name, shape, dtype, f"{name} is stored as a pickle, which could run code", "save the model's state_dict"
        )
    place = inside.get(folder + str(entry["path_name"]))
    if place is None:
        return unreadable(name, shape, dtype, f"the archive lacks {clean(entry['path_name'])}, which holds {name}", AGAIN)
    return StoredTensor(name, shape, dtype, place, _integers([meta["storage_offset"]])[0], strides)


def _integers(sizes: list[dict[str, Any]]) -> tuple[int, ...]:
    values = tuple(size["as_int"] for size in sizes)
    if not all(isinstance(value, int) and 0 <= value < 1 << 62 for value in values):
        raise ValueError("a size that is no number")
    return values
