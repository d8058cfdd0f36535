"""Max pooling that gives its places: coremltools gives the values only (coremltools#2456)."""

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule, fixed


def with_places(
    constants: Constants,
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> Any:
    """The largest of each window of (batch, channels, height, width), and its place in the flattened picture."""
    height, width = (fixed(item) for item in x.shape[-2:])
    if x.ndim != 4 or ceil_mode or height is None or width is None:
        return NotImplemented
    kernel, pad, step, spread = (_pair(item) for item in (kernel_size, padding, stride or kernel_size, dilation))
    shape = "_".join(str(item) for item in (height, width, *kernel, *pad, *step, *spread))
    where = constants.get(f"places_{shape}", partial(_places, height, width, kernel, pad, step, spread))
    if where is None:
        return NotImplemented
    sides = (pad[1], pad[1], pad[0], pad[0])
    padded = F.pad(x, sides, value=-math.inf).flatten(-2)
    windows = padded.index_select(2, where[0].reshape(-1)).reshape(*x.shape[:2], *where[0].shape)
    places = where[1].expand(windows.shape).gather(-1, windows.argmax(-1, keepdim=True)).squeeze(-1)
    rows = (height + 2 * pad[0] - spread[0] * (kernel[0] - 1) - 1) // step[0] + 1
    shape_out = (*x.shape[:2], rows, where[0].shape[0] // rows)
    return windows.amax(-1).reshape(shape_out), places.reshape(shape_out)


def _places(height: int, width: int, kernel: Any, pad: Any, step: Any, spread: Any) -> Tensor:
    """(2, windows, kernel elements): places in the padded picture and in the picture itself."""
    line = torch.arange(height * width, dtype=torch.float64).reshape(1, 1, height, width)
    own = F.pad(line, (pad[1], pad[1], pad[0], pad[0]))
    wide = torch.arange(own.numel(), dtype=torch.float64).reshape(own.shape)
    return torch.cat([F.unfold(item, kernel, dilation=spread, stride=step).transpose(1, 2) for item in (wide, own)]).long()


def _pair(value: Any) -> tuple[int, int]:
    items = [int(item) for item in value] if isinstance(value, (tuple, list)) else [int(value)]
    return (items[0], items[-1])


RULES = (Rule((F.max_pool2d_with_indices,), "max pooling with its places as an index (coremltools#2456)", with_places),)
