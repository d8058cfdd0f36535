"""Reading and writing at computed positions.

A negative index counts from the end; one outside the axis fails, where Core ML may give anything.
"""

import torch
from torch import Tensor

from explorer.inference.coreml.registry import rule

REDUCTIONS = {"add": "sum", "sub": "sum", "mul": "prod", "div": "prod", "max": "amax", "min": "amin"}


@rule("gather")
def gather(*, x: Tensor, indices: Tensor, axis: int = 0, batch_dims: int = 0, validate_indices: bool = False) -> Tensor:
    return _gather(x, indices, axis % x.ndim, batch_dims)


@rule("gather_along_axis")
def gather_along_axis(*, x: Tensor, indices: Tensor, axis: int = 0, validate_indices: bool = False) -> Tensor:
    return torch.take_along_dim(x, _positive(indices, x.shape[axis]), axis)


@rule("gather_nd")
def gather_nd(*, x: Tensor, indices: Tensor, batch_dims: int = 0, validate_indices: bool = False) -> Tensor:
    if batch_dims:
        pairs = zip(x, indices, strict=True)
        return torch.stack([gather_nd(x=part, indices=chosen, batch_dims=batch_dims - 1) for part, chosen in pairs])
    return x[tuple(indices.unbind(-1))]


@rule("scatter")
def scatter(
    *, data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, mode: str = "add", validate_indices: bool = False
) -> Tensor:
    along = axis % data.ndim
    positions = _positive(indices, data.shape[along]).reshape(-1)
    shape = [1] * data.ndim
    shape[along] = -1
    values = updates.reshape(*data.shape[:along], len(positions), *data.shape[along + 1 :])
    return _scattered(data, positions.reshape(shape).expand(values.shape), values, along, mode)


@rule("scatter_along_axis")
def scatter_along_axis(
    *, data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, mode: str = "add", validate_indices: bool = False
) -> Tensor:
    along = axis % data.ndim
    return _scattered(data, _positive(indices, data.shape[along]), updates, along, mode)


@rule("scatter_nd")
def scatter_nd(
    *, data: Tensor, indices: Tensor, updates: Tensor, mode: str = "add", validate_indices: bool = False
) -> Tensor:  # fmt: skip
    """The last axis of `indices` names a place in the first axes of `data`, which are joined to scatter along one."""
    depth = indices.shape[-1]
    rows = torch.zeros(indices.shape[:-1], dtype=torch.long)
    for part, size in zip(indices.unbind(-1), data.shape, strict=False):
        rows = rows * size + _inside(_positive(part, size), size)
    flat = data.reshape(data.shape[:depth].numel(), -1)
    values = updates.reshape(rows.numel(), flat.shape[1])
    return _scattered(flat, rows.reshape(-1, 1).expand(values.shape), values, 0, mode).reshape(data.shape)


@rule("non_zero")
def non_zero(*, x: Tensor) -> Tensor:
    return x.nonzero()


def _positive(indices: Tensor, size: int) -> Tensor:
    return torch.where(indices < 0, indices + size, indices)


def _inside(indices: Tensor, size: int) -> Tensor:
    if bool(((indices < 0) | (indices >= size)).any()):
        raise IndexError(f"an index lies outside an axis of {size}")
    return indices


def _gather(x: Tensor, indices: Tensor, axis: int, batch_dims: int) -> Tensor:
    if batch_dims:
        return torch.stack([_gather(*pair, axis - 1, batch_dims - 1) for pair in zip(x, indices, strict=True)])
    if not indices.ndim:
        return x.select(axis, int(indices))
    chosen = x.index_select(axis, _positive(indices, x.shape[axis]).reshape(-1))
    return chosen if indices.ndim == 1 else chosen.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _scattered(data: Tensor, positions: Tensor, updates: Tensor, axis: int, mode: str) -> Tensor:
    """Repeated positions add up; of several updates of one position the last counts."""
    if mode == "update":
        return data.scatter(axis, positions, updates)
    if mode == "sub":
        updates = -updates
    if mode == "div":
        updates = updates.float().reciprocal()
    return data.to(updates.dtype).scatter_reduce(axis, positions, updates, REDUCTIONS[mode])
