"""GGUF, the format of llama.cpp: a header of typed keys, then the list of tensors, then the numbers.

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Arrays, such as a vocabulary, are passed over and not kept.
Shapes are given with the slowest dimension first, as in torch; the file lists them the other way round.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from explorer.errors import ExplorerError
from explorer.models.bounds import TENSOR_LIMIT, clean
from explorer.models.dtypes import elements_of
from explorer.models.gguf_reader import Cursor, GgufError
from explorer.models.gguf_types import BLOCKS, QUANTIZED_NAMES
from explorer.models.summary import bytes_by_dtype, count_parameters
from explorer.schemas.events import Finding
from explorer.schemas.model_results import ExternalFile, InspectResult, TensorInfo

AGAIN = "fetch or save it again"
VERSIONS = (1, 2, 3)
KEY_LIMIT = 100_000
DIMENSION_LIMIT = 8
ALIGNMENT_BYTES = 32


class Entry(NamedTuple):
    """One tensor of the list: `offset` counts bytes from the start of the numbers."""

    name: str
    shape: list[int]
    type_id: int
    offset: int


class Layout(NamedTuple):
    """Tensors with the byte of the file at which each begins, and the keys of the header."""

    tensors: list[TensorInfo]
    offsets: list[int]
    metadata: dict[str, Any]
    version: int


def describe(path: Path) -> InspectResult:
    """Tensors with the types that ggml packs them in, and the keys of the header."""
    layout = read_layout(path)
    tensors = layout.tensors
    size = path.stat().st_size
    end = max((start + tensor.bytes for start, tensor in zip(layout.offsets, tensors, strict=True)), default=0)
    if end > size:
        raise ExplorerError(f"{path} is cut off: its tensors end at byte {end} of {size}", AGAIN)
    parts = _parts(path, layout.metadata)
    return InspectResult(
        source=str(path),
        format="gguf",
        format_name=f"GGUF version {layout.version}",
        runs_code_on_load=False,
        safety="cannot hold code; a chat template in it is text that programs may render",
        tensors=tensors,
        parameters=count_parameters(tensors),
        bytes=size,
        bytes_by_dtype=bytes_by_dtype(tensors),
        external_files=parts,
        metadata=layout.metadata,
        findings=[*_quantized(tensors), *_lost(parts)],
    )


def read_layout(path: Path) -> Layout:
    """The header. Raises `ExplorerError` when it is damaged or claims more than the file holds."""
    try:
        with path.open("rb") as stream:
            return _layout(Cursor(stream, path.stat().st_size))
    except GgufError as error:
        raise ExplorerError(f"{path} is cut off or damaged ({error})", AGAIN) from None


def _layout(cursor: Cursor) -> Layout:
    cursor.bytes(4)
    version = _version(cursor)
    tensors, keys = cursor.count(), cursor.count()
    if tensors > TENSOR_LIMIT or keys > KEY_LIMIT:
        raise GgufError(f"a header of {tensors} tensors and {keys} keys")
    metadata: dict[str, Any] = {}
    for _ in range(keys):
        key = clean(cursor.text())
        metadata[key] = cursor.value(cursor.integer(4))
    entries = [_entry(cursor) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", ALIGNMENT_BYTES)
    step = alignment if isinstance(alignment, int) and 0 < alignment <= 1 << 20 else ALIGNMENT_BYTES
    start = -(-cursor.position // step) * step
    sizes = _sizes(entries, cursor.size - start)
    return Layout(
        [_tensor(entry, size) for entry, size in zip(entries, sizes, strict=True)],
        [start + entry.offset for entry in entries],
        metadata,
        version,
    )


def _version(cursor: Cursor) -> int:
    """1 to 3; a file of a big-endian machine has its bytes the other way round."""
    version = cursor.integer(4)
    if version not in VERSIONS and version.to_bytes(4, "little")[::-1] in [item.to_bytes(4, "little") for item in VERSIONS]:
        cursor.order = "big"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in VERSIONS:
        raise GgufError(f"version {version}")
    cursor.count_bytes = 4 if version == 1 else 8
    return version


def _entry(cursor: Cursor) -> Entry:
    name = clean(cursor.text())
    dimensions = cursor.integer(4)
    if dimensions > DIMENSION_LIMIT:
        raise GgufError(f"tensor {name[:100]} of {dimensions} dimensions")
    shape = [cursor.count() for _ in range(dimensions)][::-1]
    type_id, offset = cursor.integer(4), cursor.integer(8)
    if max(shape, default=0) >= 1 << 62:
        raise GgufError(f"tensor {name[:100]} of a size of {max(shape)}")
    return Entry(name, shape, type_id, offset)


def _sizes(entries: Sequence[Entry], held: int) -> list[int]:
    """Bytes of each tensor; one of a type that is not in the table reaches to the next."""
    starts = sorted({entry.offset for entry in entries} | {max(0, held)})
    following = dict(pairwise(starts))
    sizes = []
    for entry in entries:
        block = BLOCKS.get(entry.type_id)
        if block is None:
            sizes.append(following.get(entry.offset, entry.offset) - entry.offset)
            continue
        rows, rest = divmod(elements_of(entry.shape), block.elements)
        if rest:
            raise GgufError(f"tensor {entry.name[:100]} is not a whole number of blocks")
        sizes.append(rows * block.bytes)
    return sizes


def _tensor(entry: Entry, size: int) -> TensorInfo:
    block = BLOCKS.get(entry.type_id)
    return TensorInfo(name=entry.name, shape=entry.shape, dtype=block.name if block else f"ggml type {entry.type_id}", bytes=size)


def _quantized(tensors: list[TensorInfo]) -> list[Finding]:
    used = sorted({tensor.dtype for tensor in tensors} & QUANTIZED_NAMES)
    if not used:
        return []
    count = sum(tensor.dtype in QUANTIZED_NAMES for tensor in tensors)
    return [Finding(severity="info", title=f"compressed: quantized to {', '.join(used)}", evidence=f"{count} tensors")]


def _parts(path: Path, metadata: dict[str, Any]) -> list[ExternalFile]:
    """The other files of a model that is split, by the names that llama.cpp gives them."""
    count, number = metadata.get("split.count", 0), metadata.get("split.no", 0)
    ending = f"-{number + 1:05}-of-{count:05}.gguf" if isinstance(count, int) and isinstance(number, int) else ""
    if not ending or not 1 < count <= 1000 or not path.name.endswith(ending):
        return []
    names = [path.name.removesuffix(ending) + f"-{part:05}-of-{count:05}.gguf" for part in range(1, count + 1)]
    found = [(name, path.with_name(name)) for name in names if name != path.name]
    return [ExternalFile(name=name, bytes=other.stat().st_size if other.is_file() else None) for name, other in found]


def _lost(parts: list[ExternalFile]) -> list[Finding]:
    lost = [part.name for part in parts if part.bytes is None]
    title = f"the model is split in {len(parts) + 1} files, {len(lost)} are missing"
    return [Finding(severity="error", title=title, evidence=lost[0], remedy="fetch the missing file")] if lost else []
