"""From stored bytes to numpy arrays, for every element type that model files use.

Small floats: the OCP formats (https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1)
and their "fnuz" kin (https://arxiv.org/abs/2206.02915).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.models.dtypes import BITS

Array = NDArray[Any]
Raw = bytes | bytearray | memoryview

NATIVE = {
    "float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2", "int8": "i1",
    "uint64": "<u8", "uint32": "<u4", "uint16": "<u2", "uint8": "u1", "qint8": "i1", "quint8": "u1", "qint32": "<i4",
    "complex64": "<c8", "complex128": "<c16",
}  # fmt: skip
PACKED = {"uint6": False, "uint4": False, "uint3": False, "uint2": False, "uint1": False, "int4": True, "int2": True,
          "quint4x2": False, "quint2x4": False}  # fmt: skip
EXPONENTS = {"float16": 0x7C00, "bfloat16": 0x7F80}


class _Small(NamedTuple):
    """A float of at most eight bits: `bias` of the exponent; `nan` are its only NaN codes, None means IEEE's with infinities."""

    exponent: int
    mantissa: int
    bias: int
    nan: tuple[int, ...] | None


SMALL = {
    "float8_e4m3fn": _Small(4, 3, 7, (0x7F, 0xFF)),
    "float8_e4m3fnuz": _Small(4, 3, 8, (0x80,)),
    "float8_e5m2": _Small(5, 2, 15, None),
    "float8_e5m2fnuz": _Small(5, 2, 16, (0x80,)),
    "float4_e2m1fn": _Small(2, 1, 1, ()),
}
SCALE = "float8_e8m0fnu"  # an exponent alone


def is_decodable(dtype: str) -> bool:
    return dtype in NATIVE or dtype in PACKED or dtype in SMALL or dtype in ("bfloat16", "bool", "complex32", SCALE)


def holds_only_finite(dtype: str) -> bool:
    """Whether the type has neither NaN nor infinity."""
    return dtype in PACKED or dtype in ("bool", "float4_e2m1fn") or np.dtype(NATIVE.get(dtype, "f4")).kind in "iu"


def decoded(raw: Raw, dtype: str, count: int) -> Array:
    """The first `count` elements as a flat array; a type that numpy lacks becomes float32, uint8 or int8.

    The array of a native type is a view of `raw`.
    """
    if dtype in NATIVE:
        return np.frombuffer(raw, NATIVE[dtype], count)
    if dtype == "bool":
        return np.frombuffer(raw, np.uint8, count).astype(np.bool_)
    if dtype == "bfloat16":
        return (np.frombuffer(raw, "<u2", count).astype(np.uint32) << 16).view(np.float32)
    if dtype == "complex32":
        return np.frombuffer(raw, "<f2", 2 * count).astype(np.float32).view(np.complex64)
    if dtype in PACKED:
        return _unpacked(raw, BITS[dtype], count, PACKED[dtype])
    codes = _unpacked(raw, 4, count, False) if dtype == "float4_e2m1fn" else np.frombuffer(raw, np.uint8, count)
    values: Array = _table(dtype)[codes]
    return values


def all_finite(raw: Raw, dtype: str, count: int) -> bool:
    """Whether no element is NaN or infinite; a sum of floats is finite only when all of them are, and costs one pass."""
    if holds_only_finite(dtype):
        return True
    if dtype in EXPONENTS:
        mask = EXPONENTS[dtype]
        return bool(((np.frombuffer(raw, "<u2", count) & mask) != mask).all())
    values = decoded(raw, dtype, count)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _unpacked(raw: Raw, bits: int, count: int, signed: bool) -> Array:
    """Numbers of fewer than eight bits, lowest bit first, as ONNX, Core ML and torch pack them."""
    packed = np.frombuffer(raw, np.uint8, -(-bits * count // 8))
    places = np.unpackbits(packed, count=bits * count, bitorder="little").reshape(count, bits)
    codes: Array = (places << np.arange(bits, dtype=np.uint8)).sum(1, dtype=np.uint8)
    return ((codes ^ (1 << bits - 1)).astype(np.int8) - (1 << bits - 1)).astype(np.int8) if signed else codes


@cache
def _table(dtype: str) -> Array:
    """The value of every code."""
    if dtype == SCALE:
        return np.array([2.0 ** (code - 127) for code in range(255)] + [np.nan], np.float32)
    kind = SMALL[dtype]
    codes = range(1 << (1 + kind.exponent + kind.mantissa))
    return np.array([_value(code, kind) for code in codes], np.float32)


def _value(code: int, kind: _Small) -> float:
    exponent = code >> kind.mantissa & (1 << kind.exponent) - 1
    fraction = code & (1 << kind.mantissa) - 1
    sign = -1.0 if code >> (kind.exponent + kind.mantissa) else 1.0
    if kind.nan is None and exponent == (1 << kind.exponent) - 1:
        return float("nan") if fraction else sign * float("inf")
    if kind.nan and code in kind.nan:
        return float("nan")
    lead = 1 if exponent else 0
    return float(sign * (lead + fraction / (1 << kind.mantissa)) * 2.0 ** (max(exponent, 1) - kind.bias))
