"""Padding by an index for each axis.

Core ML refuses reflection and replication of more than two axes when it loads the program, not when coremltools writes it
(coremltools#2571, #2576), and coremltools has neither circular padding (executorch#11710) nor negative one (coremltools#751).
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed

MOST_AXES = 2


def padded(constants: Constants, x: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """`F.pad` in the modes that copy values."""
    sides = [fixed(item) for item in pad]
    axes = len(sides) // 2
    if mode == "constant" and any(item is not None and item < 0 for item in sides):
        return _cropped(x, sides, value)
    if mode == "constant" or (mode != "circular" and axes <= MOST_AXES):
        return NotImplemented
    for at in range(axes):
        before, after, size = sides[2 * at], sides[2 * at + 1], fixed(x.shape[-1 - at])
        if size is None or before is None or after is None:
            return NotImplemented
        key = f"pad_{mode}_{before}_{size}_{after}".replace("-", "_")
        places = constants.get(key, partial(_places, size, before, after, mode))
        if places is None:
            return NotImplemented
        x = x.index_select(x.ndim - 1 - at, places)
    return x


def _cropped(x: Tensor, sides: list[int | None], value: Any) -> Any:
    """A negative side takes away."""
    for at in range(len(sides) // 2):
        axis, before, after = x.ndim - 1 - at, sides[2 * at] or 0, sides[2 * at + 1] or 0
        start, length = max(0, -before), fixed(x.shape[axis])
        if length is None:
            return NotImplemented
        x = x.narrow(axis, start, length - start - max(0, -after))
    return F.pad(x, [max(0, item or 0) for item in sides], value=value)


def _places(size: int, before: int, after: int, mode: str) -> Tensor:
    """Where each element of the padded axis comes from."""
    line = torch.arange(size, dtype=torch.float64).reshape(1, 1, size)
    return F.pad(line, (before, after), mode=mode).reshape(-1).long()


RULES = (Rule((F.pad,), "padding as indices and slices (coremltools#2571, executorch#11710)", padded),)
