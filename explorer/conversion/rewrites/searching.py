"""The place of values between boundaries as a count of those below.

coremltools has no bucketize and searches only sequences of the values' rank (coremltools PR#2403); dynamo's ONNX exporter had no
bucketize either (pytorch#148098).
"""

from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.rule import BOTH, Constants, Rule


def bucketized(constants: Constants, x: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    """How many boundaries are below each value, or not above it with `right`."""
    if not isinstance(x, Tensor) or boundaries.ndim != 1:
        return NotImplemented
    values = x.unsqueeze(-1)
    below = boundaries <= values if right else boundaries < values
    return below.int().sum(-1).to(torch.int32 if out_int32 else torch.int64)


def searched(
    constants: Constants,
    sequence: Tensor,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:
    if sorter is not None:
        return NotImplemented
    return bucketized(constants, x, sequence, out_int32=out_int32, right=right or side == "right")


WORDS = "a search among boundaries as a count (coremltools#2403)"
RULES = (Rule((torch.bucketize,), WORDS, bucketized, BOTH), Rule((torch.searchsorted,), WORDS, searched, BOTH))
