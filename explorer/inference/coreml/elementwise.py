"""Element by element: arithmetic, comparisons, logic, casts and selection."""

from collections.abc import Callable

import torch
from torch import Tensor

from explorer.inference.coreml.registry import rule

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
    "identity": lambda x: x,
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
    def unary(*, x: Tensor) -> Tensor:
        return function(x)

    return unary


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def binary(*, x: Tensor, y: Tensor) -> Tensor:
        return function(x, y)

    return binary


for name, one in UNARY.items():
    rule(name)(_unary(one))
for name, two in BINARY.items():
    rule(name)(_binary(two))


@rule("log")
def log(*, x: Tensor, epsilon: float) -> Tensor:
    return torch.log(x + epsilon)


@rule("rsqrt")
def rsqrt(*, x: Tensor, epsilon: float) -> Tensor:
    return torch.rsqrt(x + epsilon)


@rule("inverse")
def inverse(*, x: Tensor, epsilon: float) -> Tensor:
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
    """Floats stay float32 here: rounding to half follows from the declared type of the result.

    A float becomes an integer by cutting its fraction off and stops at the ends of the type, NaN gives 0 (Core ML leaves both
    open); an integer that does not fit wraps around, as in coremltools' own folding.
    """
    if dtype in ("fp16", "fp32"):
        return x.float()
    if dtype == "bool":
        return x.bool()
    low, high = integer_range(dtype)
    if x.is_floating_point():
        return x.double().nan_to_num(0.0, high, low).trunc().clamp(low, high).long()
    return wrapped(x.long(), dtype)


def integer_range(dtype: str) -> tuple[int, int]:
    """The ends of an integer type such as int8 or uint16."""
    bits = int(dtype.strip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapped(x: Tensor, dtype: str) -> Tensor:
    """Integers as they come out of arithmetic in that type."""
    low, high = integer_range(dtype)
    return (x - low) % (high - low + 1) + low if high < 2**62 else x
