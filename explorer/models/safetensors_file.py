"""safetensors: a length, a JSON header, then the numbers. https://huggingface.co/docs/safetensors"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from explorer.errors import ExplorerError
from explorer.models.bounds import check_tensors, clean, parse_json
from explorer.models.compressed import compression_findings
from explorer.models.dtypes import bytes_of, elements_of
from explorer.models.summary import bytes_by_dtype, common_prefixes, count_parameters
from explorer.schemas.model_results import InspectResult, TensorInfo

HEADER_LIMIT_BYTES = 100_000_000  # the format's own limit
LENGTH_BYTES = 8
AGAIN = "fetch or save it again"
DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
    "F6_E2M3": "float6_e2m3fn", "F6_E3M2": "float6_e3m2fn", "F4": "float4_e2m1fn", "C64": "complex64", "BOOL": "bool",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64",
    "U32": "uint32", "U16": "uint16", "U8": "uint8",
}  # fmt: skip


class Header(NamedTuple):
    """Tensors in the order of the header, where each lies behind it, and the free texts of `__metadata__`."""

    tensors: list[TensorInfo]
    offsets: list[tuple[int, int]]
    metadata: dict[str, Any]


def describe(path: Path) -> InspectResult:
    """Names, shapes and types from the header, whose claims are checked against the size of the file."""
    header = read_header(path)
    tensors = header.tensors
    return InspectResult(
        source=str(path),
        format="safetensors",
        format_name="safetensors",
        runs_code_on_load=False,
        safety="cannot hold code",
        tensors=tensors,
        parameters=count_parameters(tensors),
        bytes=path.stat().st_size,
        bytes_by_dtype=bytes_by_dtype(tensors),
        prefixes=common_prefixes([tensor.name for tensor in tensors]),
        metadata=header.metadata,
        findings=compression_findings([(tensor.name, tensor.dtype) for tensor in tensors]),
    )


def read_header(path: Path) -> Header:
    """The header of a file. Raises `ExplorerError` when it is damaged, or when the file is shorter or longer than it says."""
    entries, data_bytes = _entries(path)
    metadata = entries.pop("__metadata__", {})
    try:
        check_tensors(len(entries))
        offsets = [(int(entry["data_offsets"][0]), int(entry["data_offsets"][1])) for entry in entries.values()]
        tensors = [_tensor(name, entry) for name, entry in entries.items()]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN) from None
    end = max((stop for _, stop in offsets), default=0)
    if end != data_bytes:
        what = "is cut off" if end > data_bytes else "has bytes after its end"
        raise ExplorerError(f"{path} {what}: its header lists {end} bytes of tensors, it holds {data_bytes}", AGAIN)
    if not _seamless(offsets):
        raise ExplorerError(f"{path} has tensors that overlap or leave gaps", AGAIN)
    return Header(tensors, offsets, _texts(metadata))


def _seamless(offsets: Iterable[tuple[int, int]]) -> bool:
    position = 0
    for start, end in sorted(offsets):
        if start != position:
            return False
        position = end
    return True


def _texts(metadata: Any) -> dict[str, Any]:
    pairs = list(metadata.items())[:100] if isinstance(metadata, dict) else []
    return {clean(key): clean(value, 1000) for key, value in pairs if isinstance(value, str)}


def _entries(path: Path) -> tuple[dict[str, Any], int]:
    """The parsed header and how many bytes follow it."""
    with path.open("rb") as stream:
        size = path.stat().st_size
        length = int.from_bytes(stream.read(LENGTH_BYTES), "little")
        if length > min(HEADER_LIMIT_BYTES, size - LENGTH_BYTES):
            raise ExplorerError(
                f"{path} is cut off or no safetensors file: a header of {length} bytes in a file of {size}", AGAIN
            )
        text = stream.read(length)
    try:
        header = parse_json(text)
    except ValueError:
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN) from None
    if not isinstance(header, dict):
        raise ExplorerError(f"{path} has a damaged safetensors header", AGAIN)
    return header, size - LENGTH_BYTES - length


def _tensor(name: str, entry: dict[str, Any]) -> TensorInfo:
    shape = [int(size) for size in entry["shape"]]
    dtype = DTYPES.get(entry["dtype"], clean(entry["dtype"], 50))
    start, end = (int(offset) for offset in entry["data_offsets"])
    if min([start, *shape], default=0) < 0 or end < start or max(shape, default=0) > 1 << 62 or len(shape) > 64:
        raise ValueError(name)
    if dtype in DTYPES.values() and bytes_of(dtype, elements_of(shape)) != end - start:
        raise ValueError(name)
    return TensorInfo(name=clean(name), shape=shape, dtype=dtype, bytes=end - start)
