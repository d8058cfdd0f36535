"""Inert stand-ins for everything that a pickle may name: storages, tensors, classes, functions."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SCALARS = (str, int, float, bool, bytes, type(None))

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool", "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
}  # fmt: skip


@dataclass(frozen=True)
class Storage:
    """A block of numbers that the file holds elsewhere; never read."""

    dtype: str
    key: str
    location: str
    elements: int


@dataclass(frozen=True)
class StubTensor:
    """A view of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    dtype: str


class Global:
    """A name that the pickle refers to, standing in for the class or function of that name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        maker = MAKERS.get(self.name)
        return maker(*args) if maker else Stub(self.name, args)


@dataclass(eq=False)
class Stub:
    """What calling a `Global` would have made: its arguments and the state and items given to it afterwards."""

    name: str
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


def _tensor(storage: Any, offset: Any = 0, size: Any = (), *rest: Any) -> Any:
    sound = isinstance(storage, Storage) and isinstance(offset, int) and isinstance(size, tuple | list)
    if not sound or not all(isinstance(item, int) and 0 <= item < 1 << 62 for item in size) or len(size) > 64:
        raise pickle.UnpicklingError("a tensor with a wrong shape or storage")
    return StubTensor(storage, offset, tuple(size), storage.dtype)


def _tensor_v3(storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *rest: Any) -> Any:
    """The dtype is given apart for types that have no storage class of their own."""
    plain = _tensor(storage, offset, size)
    name = dtype.name.removeprefix("torch.") if isinstance(dtype, Global) else storage.dtype
    return StubTensor(plain.storage, plain.offset, plain.shape, name)


def _parameter(data: Any = None, *rest: Any) -> Any:
    return data


def _ordered(items: Any = (), *rest: Any) -> dict[Any, Any]:
    pairs = items if isinstance(items, list | tuple) else ()
    return {safe_key(pair[0]): pair[1] for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2}


def _listed(items: Any = (), *rest: Any) -> list[Any]:
    return list(items) if isinstance(items, list | tuple) else []


MAKERS: dict[str, Callable[..., Any]] = {
    "builtins.set": _listed,
    "__builtin__.set": _listed,
    "collections.OrderedDict": _ordered,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_qtensor": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
}


def safe_key(key: Any) -> Any:
    """A dict key that is safe to hash: hashing a deeply nested tuple would overflow the stack."""
    return key if isinstance(key, SCALARS) else f"<{type(key).__name__}>"
