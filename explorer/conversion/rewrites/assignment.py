"""Assignment by an index tensor: traced, coremltools drops it; exported, it may refuse it (coremltools#2188).

`x[..., index, ...] = value` becomes a choice between the old values and the new ones, one for each index.
"""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed

MOST = 64


def assigned(constants: Constants, x: Tensor, index: Any, value: Any) -> Any:
    """`x[index] = value` where one entry of the index is a vector of integers and the others take whole dimensions."""
    entries = index if isinstance(index, tuple) else (index,)
    vectors = [at for at, item in enumerate(entries) if isinstance(item, Tensor)]
    whole = all(item == slice(None) for item in entries if not isinstance(item, Tensor))
    if len(vectors) != 1 or not whole or not isinstance(x, Tensor):
        return NotImplemented
    at = vectors[0]
    places = entries[at]
    if places.ndim > 1 or places.dtype not in (torch.int64, torch.int32):
        return NotImplemented
    return _chosen(x, at, places.reshape(-1), _spread(x, at, places, value))


def _spread(x: Tensor, at: int, places: Tensor, value: Any) -> Any:
    """The value with all of x's dimensions, or a number."""
    if not isinstance(value, Tensor) or value.ndim == 0:
        return value
    shape = [*x.shape[:at], *places.shape, *x.shape[at + 1 :]]
    value = value.expand(shape)
    return value if places.ndim else value.unsqueeze(at)


def _chosen(x: Tensor, at: int, places: Tensor, value: Any) -> Any:
    size, count = fixed(x.shape[at]), fixed(places.shape[0])
    if size is None or count is None or count > MOST:
        return NotImplemented
    hits = torch.where(places < 0, places + size, places).reshape(-1, 1) == torch.arange(size)
    changed = x
    for number in range(count):
        here = hits[number : number + 1].reshape(-1, *[1] * (x.ndim - at - 1))
        new = value if not isinstance(value, Tensor) or value.ndim == 0 else value.narrow(at, number, 1)
        changed = torch.where(here, new, changed)
    # Traced, coremltools takes an assignment to a slice only.
    torch.ops.aten.slice.Tensor(x, at, 0, size).copy_(changed)
    return None


RULES = (Rule((Tensor.__setitem__,), "an assignment by index as a choice (coremltools#2188)", assigned),)
