"""What is known about tensors while a forward runs, so that a pattern of several calls can be told at its last one."""

import weakref
from typing import Any

from torch import Tensor


class Marks:
    """A note on a tensor, found again by the very same tensor as long as it lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Tensor], Any]] = {}

    def put(self, tensor: Tensor, note: Any) -> Tensor:
        """The tensor, with the note."""
        key = id(tensor)
        self._known[key] = (weakref.ref(tensor, lambda _: self._known.pop(key, None)), note)
        return tensor

    def get(self, tensor: Any) -> Any:
        """Its note, or None."""
        found = self._known.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None


def dims_of(x: Tensor, dim: Any) -> tuple[int, ...]:
    """Dimensions of a reduction as a tuple; all of them for None."""
    if dim is None:
        return tuple(range(x.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)
