"""A complex tensor that is two real ones."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

# Operations that move elements and do the same to both parts.
MOVING = frozenset(
    {
        "reshape", "view", "flatten", "unflatten", "transpose", "permute", "movedim", "swapaxes", "squeeze",
        "unsqueeze", "expand", "expand_as", "contiguous", "clone", "repeat", "narrow", "select", "index_select",
        "getitem", "detach", "flip", "roll", "sum", "mean", "neg", "view_as", "reshape_as", "repeat_interleave",
    }
)  # fmt: skip


class Pair:
    """Behaves like the complex tensor real + i imag in the operations that models use."""

    def __init__(self, real: Tensor, imag: Tensor) -> None:
        self.real, self.imag = real, imag

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _apply(func.__name__.strip("_"), args, dict(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        if name in MOVING or name in OPERATIONS:
            return lambda *args, **named: _apply(name, (self, *args), named)
        return getattr(self.real, name)

    @property
    def dtype(self) -> torch.dtype:
        return torch.complex128 if self.real.dtype == torch.float64 else torch.complex64

    def is_complex(self) -> bool:
        return True

    def is_floating_point(self) -> bool:
        return False

    def to(self, *args: Any, **named: Any) -> "Pair":
        """Moved to a device; a complex type is what it has."""
        kept = [item for item in args if not isinstance(item, torch.dtype)]
        return Pair(self.real.to(*kept), self.imag.to(*kept)) if kept else self

    def __getitem__(self, index: Any) -> "Pair":
        return Pair(self.real[index], self.imag[index])

    def __neg__(self) -> "Pair":
        return Pair(-self.real, -self.imag)

    def __add__(self, other: Any) -> "Pair":
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Pair":
        return add(self, -other)

    def __rsub__(self, other: Any) -> "Pair":
        return add(-self, other)

    def __mul__(self, other: Any) -> "Pair":
        return multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Pair":
        return divide(self, other)

    def __matmul__(self, other: Any) -> "Pair":
        return matmul(self, other)

    def __pow__(self, exponent: int) -> "Pair":
        return power(self, exponent)

    def __abs__(self) -> Tensor:
        return absolute(self)


def is_complex_dtype(dtype: torch.dtype) -> bool:
    return dtype in (torch.complex64, torch.complex128, torch.complex32)


def as_pair(value: Any) -> Pair:
    """Numbers and tensors, real or complex, as a pair."""
    if isinstance(value, Pair):
        return value
    if isinstance(value, Tensor):
        return Pair(value.real, value.imag) if value.is_complex() else Pair(value, torch.zeros_like(value))
    number = complex(value)
    return Pair(torch.tensor(number.real), torch.tensor(number.imag))


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, Tensor) and not value.is_complex())


def add(a: Any, b: Any, alpha: float = 1) -> Pair:
    a, b = as_pair(a), as_pair(b)
    return Pair(a.real + alpha * b.real, a.imag + alpha * b.imag) if alpha != 1 else Pair(a.real + b.real, a.imag + b.imag)


def subtract(a: Any, b: Any) -> Pair:
    return add(a, -b)


def multiply(a: Any, b: Any) -> Pair:
    if _real(a):
        return multiply(b, a)
    if _real(b):
        return Pair(a.real * b, a.imag * b)
    a, b = as_pair(a), as_pair(b)
    return Pair(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def divide(a: Any, b: Any) -> Pair:
    if _real(b):
        return Pair(a.real / b, a.imag / b)
    b = as_pair(b)
    return divide(multiply(a, conjugate(b)), b.real * b.real + b.imag * b.imag)


def matmul(a: Any, b: Any) -> Pair:
    a, b = as_pair(a), as_pair(b)
    return Pair(a.real @ b.real - a.imag @ b.imag, a.real @ b.imag + a.imag @ b.real)


def power(a: Pair, exponent: Any) -> Pair:
    if exponent != 2:
        raise TypeError("only squares of complex numbers are taken")
    return multiply(a, a)


def conjugate(a: Pair) -> Pair:
    return Pair(a.real, -a.imag)


def absolute(a: Pair) -> Tensor:
    return torch.sqrt(a.real * a.real + a.imag * a.imag)


def exponential(a: Pair) -> Pair:
    size = torch.exp(a.real)
    return Pair(size * torch.cos(a.imag), size * torch.sin(a.imag))


def joined(function: Callable[..., Tensor]) -> Callable[..., Pair]:
    def join(items: Any, *args: Any, **named: Any) -> Pair:
        pairs = [as_pair(item) for item in items]
        return Pair(
            function([item.real for item in pairs], *args, **named), function([item.imag for item in pairs], *args, **named)
        )

    return join


def same(a: Pair) -> Pair:
    return a


OPERATIONS: dict[str, Callable[..., Any]] = {
    "abs": absolute,
    "absolute": absolute,
    "add": add,
    "radd": add,
    "angle": lambda a: torch.atan2(a.imag, a.real),
    "cat": joined(torch.cat),
    "concat": joined(torch.cat),
    "conj": conjugate,
    "conj_physical": conjugate,
    "div": divide,
    "divide": divide,
    "truediv": divide,
    "exp": exponential,
    "imag": lambda a: a.imag,
    "is_complex": lambda a: True,
    "matmul": matmul,
    "bmm": matmul,
    "mul": multiply,
    "multiply": multiply,
    "rmul": multiply,
    "pow": power,
    "real": lambda a: a.real,
    "resolve_conj": same,
    "square": lambda a: multiply(a, a),
    "stack": joined(torch.stack),
    "sub": subtract,
    "view_as_real": lambda a: torch.stack([a.real, a.imag], -1),
}


def _apply(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if name in OPERATIONS:
        return OPERATIONS[name](*args, **named)
    if name not in MOVING or not isinstance(args[0], Pair):
        raise TypeError(f"{name} of complex numbers is not taken")
    pair, rest = args[0], args[1:]
    function = getattr(torch, name) if name == "repeat_interleave" else None
    if function is not None:
        return Pair(function(pair.real, *rest, **named), function(pair.imag, *rest, **named))
    parts = [getattr(part, "__getitem__" if name == "getitem" else name)(*rest, **named) for part in (pair.real, pair.imag)]
    return Pair(parts[0], parts[1])
