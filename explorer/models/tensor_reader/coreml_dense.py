"""The dense weights that Core ML's compressed constants stand for.

Operations `constexpr_*` of iOS16 and iOS18: https://apple.github.io/coremltools/source/coremltools.converters.mil.mil.ops.defs.html
"""

from collections.abc import Callable, Mapping

import numpy as np

from explorer.models.tensor_reader.decoding import Array

Rule = Callable[[Mapping[str, Array]], Array]


def affine_dequantize(parts: Mapping[str, Array]) -> Array:
    """scale * (data - zero point); vectors run along `axis`."""
    data, along = parts["quantized_data"], int(parts["axis"])
    scale, zero = (_along(parts[key].astype(np.float32), data.ndim, along) for key in ("scale", "zero_point"))
    return scale * (data.astype(np.float32) - zero)


def blockwise_shift_scale(parts: Mapping[str, Array]) -> Array:
    """scale * (data - offset); each scale covers a block of data.shape / scale.shape elements."""
    data, scale = parts["data"].astype(np.float32), _spread(parts["scale"].astype(np.float32), parts["data"].shape)
    return scale * (data - _spread(parts["offset"].astype(np.float32), data.shape) if "offset" in parts else data)


def lut_to_dense(parts: Mapping[str, Array]) -> Array:
    """iOS16 packs indices of log2(entries) bits, lowest bit first, for a `shape`; iOS18 has a table of vectors for each block."""
    lut, indices = parts["lut"].astype(np.float32), parts["indices"]
    if "shape" in parts:
        shape = tuple(int(size) for size in parts["shape"])
        return lut[_unpacked(indices, (len(lut) - 1).bit_length(), shape)]
    tables = lut
    for axis, size in enumerate(indices.shape):
        tables = tables.repeat(size // lut.shape[axis], axis)
    vectors = np.take_along_axis(tables, indices.astype(np.int64)[..., None, None], -2)[..., 0, :]
    if "vector_axis" not in parts:
        return vectors[..., 0]
    axis = int(parts["vector_axis"]) % indices.ndim
    moved = np.moveaxis(vectors, -1, axis + 1)
    return moved.reshape(*moved.shape[:axis], -1, *moved.shape[axis + 2 :])


def sparse_to_dense(parts: Mapping[str, Array]) -> Array:
    """Zeros but where the mask is set."""
    mask = parts["mask"]
    if "shape" in parts:
        mask = _unpacked(mask, 1, tuple(int(size) for size in parts["shape"]))
    dense = np.zeros(mask.shape, np.float32)
    dense[mask.astype(bool)] = parts["nonzero_data"]
    return dense


RULES: dict[str, Rule] = {
    "constexpr_affine_dequantize": affine_dequantize,
    "constexpr_blockwise_shift_scale": blockwise_shift_scale,
    "constexpr_lut_to_dense": lut_to_dense,
    "constexpr_sparse_to_dense": sparse_to_dense,
    "constexpr_cast": lambda parts: parts["source_val"],
}


def _along(values: Array, rank: int, axis: int) -> Array:
    return values if values.ndim == 0 else values.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


def _spread(blocks: Array, shape: tuple[int, ...]) -> Array:
    for axis, size in enumerate(shape):
        blocks = blocks.repeat(size // blocks.shape[axis], axis)
    return blocks


def _unpacked(packed: Array, bits: int, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape))
    places = np.unpackbits(packed.astype(np.uint8), bitorder="little")[: count * bits].reshape(count, bits)
    numbers: Array = (places.astype(np.int64) << np.arange(bits)).sum(1)
    return numbers.reshape(shape)
