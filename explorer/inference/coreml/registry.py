"""The table of operator rules: each MIL op type has one function on torch tensors."""

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

Value = Tensor | str | tuple["Value", ...]
Rule = Callable[..., Tensor | tuple[Tensor, ...]]
F = TypeVar("F", bound=Rule)

# Keys are MIL op types; a rule takes MIL's input names as keywords: tensors, strings for string constants, tuples for lists.
# Floats arrive as float32, integers as int64 (stored 8-bit weights as they are), so a rule needs no case for precision.
RULES: dict[str, Rule] = {}


def rule(*op_types: str) -> Callable[[F], F]:
    """Register the decorated function for these op types."""

    def register(function: F) -> F:
        for op_type in op_types:
            RULES[op_type] = function
        return function

    return register


def ints(value: Tensor) -> list[int]:
    """A constant vector or scalar as Python integers."""
    return [int(item) for item in value.reshape(-1).tolist()]


def flags(value: Tensor | None, length: int) -> list[bool]:
    """A constant vector of booleans; all false when it is absent."""
    return [False] * length if value is None else [bool(item) for item in value.reshape(-1).tolist()]
