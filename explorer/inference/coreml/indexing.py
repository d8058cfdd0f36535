"""Reading and writing at computed positions."""

import torch
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.inference.coreml.registry import rule

SCATTER_REDUCTIONS = {"add": "sum", "sub": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@rule("gather")
def gather(
    *, x: Tensor, indices: Tensor, axis: Tensor, batch_dims: Tensor | None = None, validate_indices: Tensor | None = None
) -> Tensor:
    return _gather(x, indices, int(axis) % x.ndim, 0 if batch_dims is None else int(batch_dims))


@rule("gather_along_axis")
def gather_along_axis(*, x: Tensor, indices: Tensor, axis: Tensor, validate_indices: Tensor | None = None) -> Tensor:
    along = int(axis)
    return torch.take_along_dim(x, _positive(indices, x.shape[along]), along)


@rule("gather_nd")
def gather_nd(*, x: Tensor, indices: Tensor, batch_dims: Tensor | None = None, validate_indices: Tensor | None = None) -> Tensor:
    return _gather_nd(x, indices, 0 if batch_dims is None else int(batch_dims))


@rule("scatter")
def scatter(
    *, data: Tensor, indices: Tensor, updates: Tensor, axis: Tensor, mode: str, validate_indices: Tensor | None = None
) -> Tensor:
    along = int(axis) % data.ndim
    positions = _positive(indices, data.shape[along]).reshape(-1)
    shape = [1] * data.ndim
    shape[along] = -1
    values = updates.reshape(*data.shape[:along], len(positions), *data.shape[along + 1 :])
    return _scattered(data, positions.reshape(shape).expand(values.shape), values, along, mode)


@rule("scatter_along_axis")
def scatter_along_axis(
    *, data: Tensor, indices: Tensor, updates: Tensor, axis: Tensor, mode: str, validate_indices: Tensor | None = None
) -> Tensor:
    along = int(axis) % data.ndim
    return _scattered(data, _positive(indices, data.shape[along]), updates, along, mode)


@rule("scatter_nd")
def scatter_nd(*, data: Tensor, indices: Tensor, updates: Tensor, mode: str, validate_indices: Tensor | None = None) -> Tensor:
    places = tuple(_positive(part, size) for part, size in zip(indices.unbind(-1), data.shape, strict=False))
    if mode == "update":
        return data.index_put(places, updates)
    if mode in ("add", "sub"):
        return data.index_put(places, updates if mode == "add" else -updates, accumulate=True)
    raise ExplorerError(f"the reference evaluator has no scatter_nd with mode {mode!r}")


@rule("non_zero")
def non_zero(*, x: Tensor) -> Tensor:
    return x.nonzero()


def _positive(indices: Tensor, size: int) -> Tensor:
    return torch.where(indices < 0, indices + size, indices)


def _gather(x: Tensor, indices: Tensor, axis: int, batch_dims: int) -> Tensor:
    if batch_dims:
        return torch.stack([_gather(*pair, axis - 1, batch_dims - 1) for pair in zip(x, indices, strict=True)])
    chosen = x.index_select(axis, _positive(indices, x.shape[axis]).reshape(-1))
    return chosen.reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _gather_nd(x: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
    if batch_dims:
        return torch.stack([_gather_nd(*pair, batch_dims - 1) for pair in zip(x, indices, strict=True)])
    return x[tuple(indices.unbind(-1))]


def _scattered(data: Tensor, positions: Tensor, updates: Tensor, axis: int, mode: str) -> Tensor:
    if mode == "update":
        return data.scatter(axis, positions, updates)
    if mode not in SCATTER_REDUCTIONS:
        raise ExplorerError(f"the reference evaluator has no scatter with mode {mode!r}")
    return data.scatter_reduce(axis, positions, -updates if mode == "sub" else updates, SCATTER_REDUCTIONS[mode])
