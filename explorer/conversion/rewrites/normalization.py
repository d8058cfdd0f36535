"""Root mean squares that hold in float16.

coremltools cannot take an exported rms_norm ("got 3 input(s), expected [4]"). Written out as x * rsqrt(mean(x^2) + eps), as most
models have it, the squares overflow float16 from |x| = 256 on and the result is 0 everywhere (the class of coremltools#2164).
Divided by the largest magnitude first, no square is above 1.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.marks import Marks, dims_of
from explorer.conversion.rewrites.rule import Constants, Rule

EPSILON = torch.finfo(torch.float32).eps
SMALLEST = 1e-7
MARKS = Marks()


@dataclass(frozen=True)
class Squares:
    """The squares of `x`; their mean over `dims` once those are known, plus `epsilon`."""

    x: Tensor
    dims: tuple[int, ...] = ()
    epsilon: float = 0.0

    def scaled(self) -> tuple[Tensor, Tensor]:
        """The largest magnitude s, at least sqrt(epsilon), and mean((x/s)^2) + epsilon/s^2; both keep their dimensions."""
        root = math.sqrt(self.epsilon)
        largest = torch.clamp(self.x.abs().amax(self.dims, keepdim=True), min=max(root, SMALLEST))
        share, rest = self.x / largest, root / largest
        return largest, (share * share).mean(self.dims, keepdim=True) + rest * rest


def rms_norm(
    constants: Constants, x: Tensor, shape: Any = (), weight: Tensor | None = None, eps: float | None = None, **named: Any
) -> Any:
    """`F.rms_norm` in plain arithmetic."""
    shape = named.get("normalized_shape", shape)
    dims = tuple(range(-len(shape), 0))
    largest, total = Squares(x, dims, EPSILON if eps is None else eps).scaled()
    result = x / largest * torch.rsqrt(total)
    return result if weight is None else result * weight


def power(constants: Constants, x: Any, exponent: Any = 2) -> Any:
    if not isinstance(x, Tensor) or not x.is_floating_point() or isinstance(exponent, Tensor) or exponent != 2:
        return NotImplemented
    return MARKS.put(torch.pow(x, 2), Squares(x))


def product(constants: Constants, x: Any, other: Any) -> Any:
    return power(constants, x) if x is other else NotImplemented


def mean(constants: Constants, x: Tensor, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
    known = MARKS.get(x)
    if not isinstance(known, Squares) or known.dims or not keepdim or named:
        return NotImplemented
    return MARKS.put(torch.mean(x, dim, keepdim=True), replace(known, dims=dims_of(x, dim)))


def plus(constants: Constants, x: Any, other: Any) -> Any:
    known, epsilon = (MARKS.get(x), other) if isinstance(x, Tensor) else (MARKS.get(other), x)
    if not isinstance(known, Squares) or not known.dims or not isinstance(epsilon, float):
        return NotImplemented
    return MARKS.put(torch.add(x, other), replace(known, epsilon=known.epsilon + epsilon))


def inverse_root(constants: Constants, x: Tensor) -> Any:
    known = MARKS.get(x)
    if not isinstance(known, Squares) or not known.dims:
        return NotImplemented
    largest, total = known.scaled()
    return torch.rsqrt(total) / largest


def root(constants: Constants, x: Tensor) -> Any:
    known = MARKS.get(x)
    if not isinstance(known, Squares) or not known.dims:
        return NotImplemented
    largest, total = known.scaled()
    return torch.sqrt(total) * largest


WORDS = "a root mean square scaled by its largest value, which holds in float16 (coremltools#2164)"
RULES = (
    Rule((F.rms_norm, torch.rms_norm), "rms_norm in plain arithmetic (coremltools#2164)", rms_norm),
    Rule((torch.pow, Tensor.pow, Tensor.__pow__, torch.square, Tensor.square), "", power),
    Rule((torch.mul, Tensor.mul, Tensor.__mul__), "", product),
    Rule((torch.mean, Tensor.mean), "", mean),
    Rule((torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__), "", plus),
    Rule((torch.rsqrt, Tensor.rsqrt), WORDS, inverse_root),
    Rule((torch.sqrt, Tensor.sqrt), WORDS, root),
)
