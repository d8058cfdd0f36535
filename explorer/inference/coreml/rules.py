"""The whole table of rules: importing the families fills it."""

from explorer.inference.coreml import (
    activation,
    constexpr,
    convolution,
    elementwise,
    indexing,
    linear_algebra,
    normalization,
    recurrent,
    reduction,
    resizing,
    shape,
)
from explorer.inference.coreml.registry import RULES

__all__ = [
    "RULES",
    "activation",
    "constexpr",
    "convolution",
    "elementwise",
    "indexing",
    "linear_algebra",
    "normalization",
    "recurrent",
    "reduction",
    "resizing",
    "shape",
]
