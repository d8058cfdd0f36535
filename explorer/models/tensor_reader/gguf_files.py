"""Values of GGUF files: plain types, and the simple blocks Q8_0 and Q4_0 made dense; other quantized types have none here.

Blocks: ggml/src/ggml-common.h of https://github.com/ggml-org/llama.cpp
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.gguf_file import read_layout
from explorer.models.gguf_types import BLOCKS, PLAIN, Block
from explorer.models.tensor_reader.decoding import Array
from explorer.models.tensor_reader.places import AGAIN, FAILURES, Extent
from explorer.models.tensor_reader.stored import StoredTensor, unreadable
from explorer.schemas.model_results import TensorInfo

HEAD_BYTES = 8  # magic and version
Unpack = Callable[[Array], Array]
PLAIN_NAMES = frozenset(block.name for block in PLAIN.values())
BY_NAME = {block.name: block for block in BLOCKS.values()}


def read(path: Path) -> list[StoredTensor]:
    """Tensors in the order of the header; shapes with the slowest dimension first, as torch has them."""
    layout = read_layout(path)
    with path.open("rb") as stream:
        version = stream.read(HEAD_BYTES)[4:]
    if int.from_bytes(version, "little") != layout.version:
        raise ExplorerError(f"{path} was written on a big-endian machine", "convert it on a little-endian one")
    size = path.stat().st_size
    return [_stored(path, info, start, size) for info, start in zip(layout.tensors, layout.offsets, strict=True)]


def _stored(path: Path, info: TensorInfo, start: int, size: int) -> StoredTensor:
    shape = tuple(info.shape)
    if start + info.bytes > size:
        message = f"{info.name} claims bytes {start} to {start + info.bytes} of a file of {size}"
        return unreadable(info.name, shape, info.dtype, message, AGAIN)
    place = Extent(path, start, info.bytes)
    if info.dtype in PLAIN_NAMES:
        return StoredTensor(info.name, shape, info.dtype, place)
    if info.dtype in SIMPLE:
        return StoredTensor(info.name, shape, info.dtype, place, make=partial(_dense, place, BY_NAME[info.dtype], shape))
    sentence = f"{info.name} has no values here: {info.dtype} is a quantized type that explorer does not unpack"
    problem = ExplorerError(sentence, "take a file of float16, bfloat16, Q8_0 or Q4_0")
    return StoredTensor(info.name, shape, info.dtype, place, problem=problem)


def _dense(place: Extent, block: Block, shape: tuple[int, ...]) -> Array:
    try:
        with place.opened(0) as stream:
            blocks = np.frombuffer(stream.read(place.size), np.uint8).reshape(-1, block.bytes)
        return SIMPLE[block.name](blocks).reshape(shape)
    except FAILURES as error:
        raise ExplorerError(f"{place.file} cannot be read ({error})", AGAIN) from None


def _q8_0(blocks: Array) -> Array:
    """A half precision scale, then 32 signed bytes."""
    values: Array = _scales(blocks) * blocks[:, 2:].view(np.int8).astype(np.float32)
    return values


def _q4_0(blocks: Array) -> Array:
    """A half precision scale, then 16 bytes: low halves are the first 16 numbers, high halves the others, both less 8."""
    codes = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.float32)
    values: Array = _scales(blocks) * (codes - 8)
    return values


def _scales(blocks: Array) -> Array:
    return blocks[:, :2].copy().view("<f2").astype(np.float32)


SIMPLE: dict[str, Unpack] = {"q8_0": _q8_0, "q4_0": _q4_0}
