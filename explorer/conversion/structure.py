"""Nested arguments and results as flat lists of tensors, and back: tuples, lists, dicts, dataclasses, None and plain values."""

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

Path = tuple[str, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Tensor]]:
    """Every tensor in `value` with the keys, fields and positions that lead to it, in order."""
    if isinstance(value, Tensor):
        yield path, value
        return
    for key, item in children(value):
        yield from leaves(item, (*path, key))


def children(value: Any) -> list[tuple[str, Any]]:
    """What a container holds, by key, field or position; nothing for anything else."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, list | tuple):
        return [(str(index), item) for index, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(item.name, getattr(value, item.name)) for item in dataclasses.fields(value)]
    return []


def filled(template: Any, tensors: Sequence[Tensor]) -> Any:
    """`template` with its tensors replaced, in order, by `tensors`."""
    return _filled(template, iter(tensors))


def _filled(value: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, Mapping):
        changed = {key: _filled(item, tensors) for key, item in value.items()}
        return changed if type(value) is dict else _like(value, changed)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_filled(item, tensors) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(_filled(item, tensors) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        twin = copy.copy(value)
        for item in dataclasses.fields(value):
            object.__setattr__(twin, item.name, _filled(getattr(value, item.name), tensors))
        return twin
    return value


def _like(original: Any, values: dict[Any, Any]) -> Any:
    """A mapping of the same kind; some kinds only copy."""
    twin = copy.copy(original)
    for key, item in values.items():
        twin[key] = item
    return twin
