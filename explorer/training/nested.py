"""What lies in a batch of any structure: tensors in lists, tuples and dicts."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def length_of(data: Any) -> int | None:
    """How many, where it says so."""
    with suppress(TypeError, NotImplementedError, AttributeError):
        return len(data)
    return None


def count_of(batch: Any) -> int:
    """Samples in a batch: the length of the first tensor or array in it, 1 where there is none."""
    found = first_tensor(batch)
    return 1 if found is None or not found.ndim else len(found)


def first_tensor(batch: Any) -> Any:
    """The first tensor or array in nested lists, tuples and dicts; None without one."""
    if hasattr(batch, "shape") and hasattr(batch, "ndim"):
        return batch
    items = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, list | tuple) else ()
    return next((found for item in items if (found := first_tensor(item)) is not None), None)


def narrowed(batch: Any, samples: int) -> Any:
    """The first samples of a batch: every tensor as long as the batch is cut."""
    count = count_of(batch)

    def cut(item: Any) -> Any:
        if hasattr(item, "shape") and hasattr(item, "ndim"):
            return item[:samples] if item.ndim and len(item) == count else item
        if isinstance(item, Mapping):
            return {key: cut(value) for key, value in item.items()}
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            return type(item)(*(cut(value) for value in item))
        return type(item)(cut(value) for value in item) if isinstance(item, list | tuple) else item

    return cut(batch)
