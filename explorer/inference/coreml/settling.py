"""What makes the outcome of a rule the type that the program declares for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer.inference.coreml.elementwise import wrapped
from explorer.inference.coreml.program import Result, Step

ARITHMETIC = frozenset({"add", "sub", "mul", "pow", "cumsum", "reduce_sum", "reduce_prod", "reduce_sum_square", "square", "abs"})


@dataclass(frozen=True)
class Place:
    """Where a result goes, and what makes it the declared type."""

    slot: int
    result: Result
    settle: Callable[[Any], Any]


def settle(step: Step, result: Result, rounds: bool) -> Callable[[Any], Any]:
    """A function to the declared type; floats stay float32 and are rounded to half where `rounds` says so.

    Integers of arithmetic wrap around at the ends of their type. What is no tensor passes as it is.
    """
    if result.kind == "float":
        return _to_half if rounds else _to_float
    if result.kind == "bool":
        return _to_bool
    if step.op_type in ARITHMETIC and result.dtype.strip("uint").isdigit():
        return lambda value: wrapped(_to_int(value), result.dtype) if isinstance(value, Tensor) else value
    return _to_int if result.kind == "int" else _unchanged


def _to_float(value: Any) -> Any:
    return value if not isinstance(value, Tensor) or value.dtype is torch.float32 else value.float()


def _to_half(value: Any) -> Any:
    return value.half().float() if isinstance(value, Tensor) else value


def _to_int(value: Any) -> Any:
    return value if not isinstance(value, Tensor) or value.dtype is torch.int64 else value.long()


def _to_bool(value: Any) -> Any:
    return value if not isinstance(value, Tensor) or value.dtype is torch.bool else value.bool()


def _unchanged(value: Any) -> Any:
    return value
