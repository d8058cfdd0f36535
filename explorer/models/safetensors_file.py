"""safetensors: a length, a JSON header, then the numbers. https://huggingface.co/docs/safetensors"""

import json
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.dtypes import bytes_of, elements_of, is_weight
from explorer.schemas.results import InspectResult, TensorInfo

HEADER_LIMIT_BYTES = 100_000_000  # the format's own limit
LENGTH_BYTES = 8
AGAIN = "fetch or save it again"
DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F4": "float4_e2m1fn", "C64": "complex64", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64",
    "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip


def describe(path: Path) -> InspectResult:
    """Names, shapes and types from the header, whose claims are checked against the size of the file."""
    header, data_bytes = _header(path)
    metadata = header.pop("__metadata__", {})
    try:
        tensors = [_tensor(name, entry) for name, entry in header.items()]
        end = max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
    except (KeyError, TypeError, ValueError, IndexError):
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN) from None
    if end != data_bytes:
        what = "is cut off" if end > data_bytes else "has bytes after its end"
        raise ExplorerError(f"{path} {what}: its header lists {end} bytes of tensors, it holds {data_bytes}", AGAIN)
    return InspectResult(
        source=str(path),
        format="safetensors",
        format_name="safetensors",
        runs_code_on_load=False,
        safety="cannot hold code",
        tensors=tensors,
        parameters=sum(elements_of(tensor.shape) for tensor in tensors if is_weight(tensor.dtype)),
        bytes=path.stat().st_size,
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The parsed header and how many bytes follow it."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if length > min(HEADER_LIMIT_BYTES, size - LENGTH_BYTES):
            raise ExplorerError(
                f"{path} is cut off or no safetensors file: a header of {length} bytes in a file of {size}", AGAIN
            )
        text = stream.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN) from None
    if not isinstance(header, dict):
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN)
    return header, size - LENGTH_BYTES - length


def _tensor(name: str, entry: dict[str, Any]) -> TensorInfo:
    shape = [int(size) for size in entry["shape"]]
    dtype = DTYPES.get(entry["dtype"], str(entry["dtype"]))
    start, end = (int(offset) for offset in entry["data_offsets"])
    known = bytes_of(dtype, elements_of(shape))
    if min([start, *shape], default=0) < 0 or end < start or (dtype in DTYPES.values() and known != end - start):
        raise ValueError(name)
    return TensorInfo(name=name, shape=shape, dtype=dtype, bytes=end - start)
