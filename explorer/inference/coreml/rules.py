"""The whole table of rules: importing the families fills it."""

from explorer.inference.coreml import (
    activation,
    blocks,
    constexpr,
    convolution,
    detection,
    elementwise,
    filling,
    indexing,
    linear_algebra,
    lists,
    normalization,
    recurrent,
    reduction,
    resizing,
    sampling,
    shape,
    slicing,
    state,
)
from explorer.inference.coreml.registry import RULES

__all__ = [
    "CONTROL_FLOW",
    "RULES",
    "activation",
    "blocks",
    "constexpr",
    "convolution",
    "detection",
    "elementwise",
    "filling",
    "indexing",
    "linear_algebra",
    "lists",
    "normalization",
    "recurrent",
    "reduction",
    "resizing",
    "sampling",
    "shape",
    "slicing",
    "state",
]
# Run by the evaluator itself: they need its blocks, its constants or what it keeps between calls.
CONTROL_FLOW = frozenset({"cond", "while_loop", "const", "coreml_update_state"})
