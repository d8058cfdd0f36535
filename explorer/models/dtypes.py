"""Element types by their common names and their sizes."""

import math
from collections.abc import Sequence

from explorer.models.gguf_types import QUANTIZED_NAMES

BITS: dict[str, int] = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16,
    "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8, "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8, "float4_e2m1fn": 4,
    "float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn_x2": 8,
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "int4": 4, "int2": 2,
    "uint64": 64, "uint32": 32, "uint16": 16, "uint8": 8, "uint6": 6, "uint4": 4, "uint3": 3, "uint2": 2, "uint1": 1,
    "qint8": 8, "quint8": 8, "qint32": 32, "quint4x2": 4, "quint2x4": 2,
    "bool": 8, "complex32": 32, "complex64": 64, "complex128": 128,
}  # fmt: skip


def bytes_of(dtype: str, elements: int) -> int:
    """Bytes of so many elements, packed below eight bits; 0 for a type of unknown size such as string."""
    return -(-BITS.get(dtype, 0) * elements // 8)


def is_weight(dtype: str) -> bool:
    """Whether values of this type count as parameters: floating and integer numbers, quantized ones too."""
    return (dtype in BITS and dtype != "bool") or dtype in QUANTIZED_NAMES


def elements_of(shape: Sequence[int]) -> int:
    return math.prod(shape)
