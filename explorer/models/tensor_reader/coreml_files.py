"""Values of Core ML programs: blobs of the weight file, and the dense weights that compressed ones stand for.

A blob is a header of 64 bytes that points to the numbers:
https://github.com/apple/coremltools/blob/main/mlmodel/src/MILBlob/Blob/StorageFormat.hpp
"""

import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.dtypes import elements_of
from explorer.models.mil_program import Operation, Value, operations, read_blocks, spec_file
from explorer.models.tensor_reader.coreml_dense import RULES
from explorer.models.tensor_reader.decoding import Array
from explorer.models.tensor_reader.places import AGAIN, Extent
from explorer.models.tensor_reader.stored import StoredTensor, unreadable

SENTINEL = 0xDEADBEEF
BLOB = struct.Struct("<IIQQ")  # sentinel, type, bytes, where they begin
ROOT = "@model_path/"
Source = Callable[[], Array]


def read(path: Path) -> list[StoredTensor]:
    """The blobs of a package or a bare specification, then the dense weights made from them."""
    folder = spec_file(path).parent
    limit = path if path.is_dir() else folder
    stored: list[StoredTensor] = []
    computed: list[StoredTensor] = []
    sources: dict[str, tuple[Source, tuple[str, ...]]] = {}
    for operation in operations(read_blocks(path)):
        own = {label: _blob(value, label, folder, limit) for label, value in _literals(operation) if value.file}
        stored.extend(own.values())
        if operation.type == "const":
            for label, value in _literals(operation):
                sources[operation.name] = (own[label].array if label in own else partial(_literal, value), tuple(own))
        elif operation.type.startswith("constexpr_"):
            dense = _computed(operation, own, sources)
            computed.append(dense)
            sources[operation.name] = (dense.array, dense.parts)
    return [*stored, *computed]


def _literals(operation: Operation) -> Iterator[tuple[str, Value]]:
    """Literals with the names that a description gives them: the constant's own, or that of the operation and its argument."""
    for key, value in operation.attributes.items():
        if operation.type != "const":
            yield f"{operation.name}.{key}", value
        elif key == "val":
            yield operation.name, value
    for key, bound in operation.inputs.items():
        yield from ((f"{operation.name}.{key}", item) for item in bound if isinstance(item, Value))


def _blob(value: Value, name: str, folder: Path, limit: Path) -> StoredTensor:
    file = folder / value.file.removeprefix(ROOT)
    shown = clean(value.file, 200)
    if any(size < 0 or size >= 1 << 62 for size in value.shape):
        return unreadable(name, (), value.dtype, f"{name} has a wrong shape")
    try:
        if not file.resolve().is_relative_to(limit.resolve()):
            return unreadable(name, value.shape, value.dtype, f"{name} lies outside the package: {shown}", "do not load it")
        size = file.stat().st_size
        with file.open("rb") as stream:
            stream.seek(min(value.offset, size))
            sentinel, _, length, start = BLOB.unpack(stream.read(BLOB.size))
    except (OSError, ValueError, struct.error):
        return unreadable(
            name, value.shape, value.dtype, f"{name} lies at byte {value.offset} of {shown}, where nothing is", AGAIN
        )
    if sentinel != SENTINEL or start + length > size:
        return unreadable(name, value.shape, value.dtype, f"{name} has a damaged place in {shown}", AGAIN)
    return StoredTensor(name, value.shape, value.dtype, Extent(file, start, length))


def _literal(value: Value) -> Array:
    if value.numbers is None or len(value.numbers) != elements_of(value.shape):
        raise ValueError("a literal that cannot be read")
    return np.array(value.numbers).reshape(value.shape)


def _computed(
    operation: Operation, own: dict[str, StoredTensor], sources: dict[str, tuple[Source, tuple[str, ...]]]
) -> StoredTensor:
    arguments: dict[str, Source] = {}
    parts = list(own)
    for label, value in _literals(operation):
        arguments[label.rpartition(".")[2]] = own[label].array if label in own else partial(_literal, value)
    for key, bound in operation.inputs.items():
        if len(bound) == 1 and isinstance(bound[0], str) and bound[0] in sources:
            arguments[key], names = sources[bound[0]]
            parts.extend(names)
    port = operation.outputs[0] if operation.outputs else None
    shape = tuple(size for size in port.shape if isinstance(size, int)) if port else ()
    dtype = port.dtype if port else "unknown"
    if operation.type not in RULES:
        sentence = f"{operation.name} is packed by {operation.type}, which is not unpacked here"
        return StoredTensor(operation.name, shape, dtype, parts=tuple(parts), problem=ExplorerError(sentence, "name its parts"))
    make = partial(_dense, operation.name, operation.type, arguments, shape, dtype)
    return StoredTensor(operation.name, shape, dtype, make=make, parts=tuple(parts))


def _dense(name: str, rule: str, arguments: dict[str, Source], shape: tuple[int, ...], dtype: str) -> Array:
    try:
        values = RULES[rule]({key: source() for key, source in arguments.items()})
    except (KeyError, ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        raise ExplorerError(f"{name} is packed in a damaged way ({type(error).__name__}: {error})", AGAIN) from None
    if values.shape != shape:
        raise ExplorerError(f"{name} unpacks to {list(values.shape)} instead of {list(shape)}", AGAIN)
    return values.astype(np.float16) if dtype == "float16" else values
