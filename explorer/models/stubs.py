"""Inert stand-ins for everything that a pickle may name: storages, tensors, classes, functions."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DIMENSION_LIMIT = 64
COUNT_LIMIT = 1 << 62
KEY_LIMIT_CHARACTERS = 300
SCALARS = (str, int, float, bool, bytes, type(None))

STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool", "QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
    "QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Storage:
    """A block of numbers that the file holds elsewhere; never read."""

    dtype: str
    key: str
    location: str
    elements: int


@dataclass(frozen=True, slots=True)
class StubTensor:
    """A view of a storage; `offset` and `stride` count elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()

    @property
    def span(self) -> int:
        """Elements from the first to behind the last, gaps included."""
        if 0 in self.shape:
            return 0
        return 1 + sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))


class Global:
    """A name that the pickle refers to, standing in for the class or function of that name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any) -> Any:
        maker = MAKERS.get(self.name)
        return maker(*args) if maker else Stub(self.name, args)


@dataclass(eq=False, slots=True)
class Stub:
    """What calling a `Global` would have made: its arguments and the state and items given to it afterwards."""

    name: str
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


def _tensor(storage: Any, offset: Any = 0, size: Any = (), stride: Any = None, *rest: Any) -> Any:
    if not isinstance(storage, Storage) or not _counts((offset,)) or not _counts(size) or len(size) > DIMENSION_LIMIT:
        raise pickle.UnpicklingError("a tensor with a wrong shape or storage")
    steps = _steps(size) if stride is None else stride
    if not _counts(steps) or len(steps) != len(size):
        raise pickle.UnpicklingError("a tensor with wrong strides")
    return StubTensor(storage, offset, tuple(size), storage.dtype, tuple(steps))


def _counts(values: Any) -> bool:
    sound = isinstance(values, tuple | list)
    return sound and all(isinstance(item, int) and 0 <= item < COUNT_LIMIT for item in values)


def _steps(size: Any) -> list[int]:
    """Strides of a contiguous tensor."""
    steps: list[int] = []
    step = 1
    for item in reversed(size):
        steps.insert(0, step)
        step = min(step * max(1, item), COUNT_LIMIT - 1)
    return steps


def _tensor_v3(storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *rest: Any) -> Any:
    """The dtype is given apart for types that have no storage class of their own."""
    plain = _tensor(storage, offset, size, stride)
    name = dtype.name.removeprefix("torch.") if isinstance(dtype, Global) else storage.dtype
    return StubTensor(plain.storage, plain.offset, plain.shape, name, plain.stride)


def _subclass(function: Any = None, kind: Any = None, args: Any = (), state: Any = None, *rest: Any) -> Any:
    """A tensor of a subclass: what the inner function would make of its arguments."""
    return function(*args) if isinstance(function, Global) and isinstance(args, tuple | list) else Stub("tensor", ())


def _sparse(layout: Any = None, data: Any = (), *rest: Any) -> dict[Any, Any]:
    """A sparse tensor as its parts; coordinates give (indices, values, size, ...), compressed rows one more."""
    tensors = [item for item in data if isinstance(item, StubTensor)] if isinstance(data, tuple | list) else []
    names = ("sparse_crow_indices", "sparse_col_indices", "sparse_values")
    return dict(zip(names if len(tensors) > 2 else ("sparse_indices", "sparse_values"), tensors, strict=False))


def _parameter(data: Any = None, *rest: Any) -> Any:
    return data


def _ordered(items: Any = (), *rest: Any) -> dict[Any, Any]:
    pairs = items if isinstance(items, list | tuple) else ()
    return {safe_key(pair[0]): pair[1] for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2}


def _listed(items: Any = (), *rest: Any) -> list[Any]:
    return list(items) if isinstance(items, list | tuple) else []


def _encoded(text: Any = "", encoding: Any = "", *rest: Any) -> bytes:
    """Bytes as Python writes them in protocol 2."""
    return text.encode("latin1", errors="replace") if isinstance(text, str) and encoding == "latin1" else b""


MAKERS: dict[str, Callable[..., Any]] = {
    "_codecs.encode": _encoded,
    "builtins.set": _listed,
    "__builtin__.set": _listed,
    "collections.OrderedDict": _ordered,
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_qtensor": _tensor,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._tensor._rebuild_from_type_v2": _subclass,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
}


def safe_key(key: Any) -> Any:
    """A dict key that is safe to hash: hashing a deeply nested tuple would overflow the stack."""
    if isinstance(key, str):
        return key[:KEY_LIMIT_CHARACTERS]
    return key if isinstance(key, SCALARS) else f"<{type(key).__name__}>"
