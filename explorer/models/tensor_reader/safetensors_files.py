"""Values of safetensors files: the header says where each tensor lies."""

from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean, parse_json
from explorer.models.safetensors_file import DTYPES, HEADER_LIMIT_BYTES, LENGTH_BYTES
from explorer.models.tensor_reader.places import AGAIN, Extent
from explorer.models.tensor_reader.stored import StoredTensor


def read(path: Path) -> list[StoredTensor]:
    """One file, in the order of its header."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
            if length > min(HEADER_LIMIT_BYTES, size - LENGTH_BYTES):
                raise ValueError("its header is longer than the file")
            header = parse_json(stream.read(length))
        data = LENGTH_BYTES + length
        return [_stored(path, name, entry, data, size) for name, entry in header.items() if name != "__metadata__"]
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", "check that it is there") from None
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise ExplorerError(f"{path} has a damaged safetensors header ({error})", AGAIN) from None


def _stored(path: Path, name: str, entry: dict[str, Any], data: int, size: int) -> StoredTensor:
    start, end = (int(offset) for offset in entry["data_offsets"])
    shape = tuple(int(item) for item in entry["shape"])
    if not 0 <= start <= end or min(shape, default=0) < 0:
        raise ValueError(clean(name))
    code = str(entry["dtype"])
    held = max(0, min(end, size - data) - start)
    return StoredTensor(clean(name), shape, DTYPES.get(code, code), Extent(path, data + start, held))
