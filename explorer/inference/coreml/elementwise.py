"""Element by element: arithmetic, comparisons, logic, casts and selection."""

from collections.abc import Callable

import torch
from torch import Tensor

from explorer.inference.coreml.registry import RULES, rule

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "abs": torch.abs,
    "acos": torch.acos,
    "asin": torch.asin,
    "atan": torch.atan,
    "atanh": torch.atanh,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "floor": torch.floor,
    "identity": torch.clone,
    "logical_not": torch.logical_not,
    "round": torch.round,
    "sign": torch.sign,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tan": torch.tan,
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "equal": torch.eq,
    "floor_div": torch.floor_divide,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mod": torch.remainder,
    "mul": torch.mul,
    "not_equal": torch.ne,
    "pow": torch.pow,
    "real_div": torch.true_divide,
    "sub": torch.sub,
}


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda *, x: function(x)


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda *, x, y: function(x, y)


RULES.update({name: _unary(function) for name, function in UNARY.items()})
RULES.update({name: _binary(function) for name, function in BINARY.items()})


@rule("log")
def log(*, x: Tensor, epsilon: Tensor) -> Tensor:
    return torch.log(x + epsilon)


@rule("rsqrt")
def rsqrt(*, x: Tensor, epsilon: Tensor) -> Tensor:
    return torch.rsqrt(x + epsilon)


@rule("inverse")
def inverse(*, x: Tensor, epsilon: Tensor) -> Tensor:
    return torch.reciprocal(x + epsilon)


@rule("clip")
def clip(*, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(x, alpha), beta)


@rule("threshold")
def threshold(*, x: Tensor, alpha: Tensor) -> Tensor:
    return torch.maximum(x, alpha)


@rule("select")
def select(*, cond: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.where(cond.bool(), a, b)


@rule("cast")
def cast(*, x: Tensor, dtype: str) -> Tensor:
    """Floats stay float32 here: rounding to half follows from the declared type of the result."""
    if dtype in ("fp16", "fp32"):
        return x.float()
    return x.bool() if dtype == "bool" else x.long()
