"""Masks of the most negative float32: a constant that is infinite in float16 (coremltools#2109, PR#2669).

-60000 is added instead and the sum is cut at -40000, so every masked score is the same, as it is when float32 swallows the score.
"""

import math
from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.marks import Marks
from explorer.conversion.rewrites.rule import Constants, Rule

LOWEST_HALF = -65504.0
ADDED, FLOOR = -60000.0, -40000.0
MASK = "mask"
MARKS = Marks()


def beyond_half(value: Any) -> bool:
    """A finite number below what float16 holds; minus infinity exists in both."""
    return isinstance(value, float) and math.isfinite(value) and value < LOWEST_HALF


def product(constants: Constants, x: Any, other: Any) -> Any:
    tensor, number = (x, other) if isinstance(x, Tensor) else (other, x)
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or not beyond_half(number):
        return NotImplemented
    return MARKS.put(tensor * ADDED, MASK)


def plus(constants: Constants, x: Any, other: Any) -> Any:
    if MARKS.get(x) != MASK and MARKS.get(other) != MASK:
        return NotImplemented
    return torch.clamp(torch.add(x, other), min=FLOOR)


def filled(constants: Constants, x: Tensor, mask: Tensor, value: Any) -> Any:
    return torch.masked_fill(x, mask, FLOOR) if beyond_half(value) else NotImplemented


def chosen(constants: Constants, condition: Tensor, x: Any = None, other: Any = None) -> Any:
    if not beyond_half(x) and not beyond_half(other):
        return NotImplemented
    return torch.where(condition, *(FLOOR if beyond_half(item) else item for item in (x, other)))


WORDS = "a mask of the lowest float32 by -40000, which holds in float16 (coremltools#2109)"
RULES = (
    Rule((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__), WORDS, product),
    Rule((torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__), "", plus),
    Rule((torch.masked_fill, Tensor.masked_fill), WORDS, filled),
    Rule((torch.where,), WORDS, chosen),
)
