"""Compressed weights made dense again, and quantized activations."""

import torch
from torch import Tensor

from explorer.inference.coreml.elementwise import integer_range
from explorer.inference.coreml.registry import rule


@rule("constexpr_affine_dequantize")
def affine_dequantize(*, quantized_data: Tensor, zero_point: Tensor, scale: Tensor, axis: int = 0) -> Tensor:
    """scale * (data - zero point); vectors run along `axis`."""
    rank, along = quantized_data.ndim, axis
    return _along(scale, rank, along) * (quantized_data.float() - _along(zero_point.float(), rank, along))


@rule("constexpr_blockwise_shift_scale")
def blockwise_shift_scale(*, data: Tensor, scale: Tensor, offset: Tensor | None = None) -> Tensor:
    """scale * (data - offset), each scale covering a block of data.shape / scale.shape elements."""
    shifted = data.float() if offset is None else data.float() - _spread(offset.float(), data)
    return _spread(scale, data) * shifted


@rule("constexpr_lut_to_dense")
def lut_to_dense(*, indices: Tensor, lut: Tensor, shape: list[int] | None = None, vector_axis: int | None = None) -> Tensor:
    """iOS16 packs indices of log2(entries) bits, lowest bit first, for a given `shape`; iOS18 has a table for each block."""
    if shape is not None:
        return lut[_unpacked(indices, (len(lut) - 1).bit_length(), shape)].reshape(shape)
    tables = lut
    if lut.shape[:-2].numel() == 1:
        vectors = lut.reshape(lut.shape[-2:])[indices.long()]
        return _along_vectors(vectors, vector_axis)
    for axis, size in enumerate(indices.shape):
        tables = tables.repeat_interleave(size // lut.shape[axis], axis)
    chosen = indices.long()[..., None, None].expand(*indices.shape, 1, lut.shape[-1])
    return _along_vectors(tables.gather(-2, chosen).squeeze(-2), vector_axis)


def _along_vectors(vectors: Tensor, vector_axis: int | None) -> Tensor:
    """The vectors of the last axis laid out along `vector_axis`."""
    if vectors.shape[-1] == 1:
        return vectors.squeeze(-1)
    along = (vector_axis or 0) % (vectors.ndim - 1)
    return vectors.movedim(-1, along + 1).flatten(along, along + 1)


@rule("constexpr_sparse_to_dense")
def sparse_to_dense(*, nonzero_data: Tensor, mask: Tensor, shape: list[int] | None = None) -> Tensor:
    if shape is not None:
        mask = _unpacked(mask, 1, shape).reshape(shape)
    dense = torch.zeros(mask.shape, dtype=nonzero_data.dtype)
    dense[mask.bool()] = nonzero_data
    return dense


@rule("constexpr_lut_to_sparse")
def lut_to_sparse(
    *, indices_mask: Tensor, indices_nonzero_data: Tensor, lut: Tensor, vector_axis: int | None = None
) -> tuple[Tensor, ...]:
    dense = lut_to_dense(
        indices=sparse_to_dense(nonzero_data=indices_nonzero_data, mask=indices_mask), lut=lut, vector_axis=vector_axis
    )
    mask = indices_mask if vector_axis is None else indices_mask.repeat_interleave(lut.shape[-1], vector_axis)
    return mask, dense[mask.bool()]


@rule("constexpr_sparse_blockwise_shift_scale")
def sparse_blockwise_shift_scale(
    *, data_mask: Tensor, nonzero_data: Tensor, scale: Tensor, offset: Tensor | None = None
) -> tuple[Tensor, ...]:
    dense = blockwise_shift_scale(data=sparse_to_dense(nonzero_data=nonzero_data, mask=data_mask), scale=scale, offset=offset)
    return data_mask, dense[data_mask.bool()]


@rule("constexpr_cast")
def constexpr_cast(*, source_val: Tensor, output_dtype: str) -> Tensor:
    return source_val


@rule("dequantize")
def dequantize(*, input: Tensor, scale: Tensor, zero_point: Tensor | None = None, axis: int = 0) -> Tensor:
    rank, along = input.ndim, axis
    shifted = input.float() if zero_point is None else input.float() - _along(zero_point.float(), rank, along)
    return _along(scale, rank, along) * shifted


@rule("quantize")
def quantize(*, input: Tensor, scale: Tensor, output_dtype: str, zero_point: Tensor | None = None, axis: int = 0) -> Tensor:
    rank, along = input.ndim, axis
    steps = torch.round(input / _along(scale, rank, along))
    steps = steps if zero_point is None else steps + _along(zero_point.float(), rank, along)
    return steps.clamp(*integer_range(output_dtype)).long()


def _along(values: Tensor, rank: int, axis: int) -> Tensor:
    """A vector shaped to broadcast along `axis`; a scalar as it is."""
    if values.ndim == 0:
        return values
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def _spread(blocks: Tensor, data: Tensor) -> Tensor:
    for axis, size in enumerate(data.shape):
        blocks = blocks.repeat_interleave(size // blocks.shape[axis], axis)
    return blocks


def _unpacked(packed: Tensor, bits: int, sizes: list[int]) -> Tensor:
    """Numbers of `bits` bits from bytes, lowest bit first."""
    count = torch.Size(sizes).numel()
    places = (packed.long()[:, None] >> torch.arange(8)) & 1
    return (places.reshape(-1)[: count * bits].reshape(count, bits) << torch.arange(bits)).sum(1)
