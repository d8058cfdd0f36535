"""Grouped-query attention: coremltools knows no heads that share keys (coremltools#2855), so the keys are repeated."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Rule


def grouped(
    constants: Constants,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *rest: Any,
    enable_gqa: bool = False,
    **named: Any,
) -> Any:
    """(batch, heads, length, width) with fewer heads in key and value."""
    times = query.shape[-3] // key.shape[-3]
    if not enable_gqa or query.ndim < 4:
        return NotImplemented
    return F.scaled_dot_product_attention(query, _repeated(key, times), _repeated(value, times), *rest, **named)


def _repeated(x: Tensor, times: int) -> Tensor:
    """Each head `times` times, one after the other."""
    return x.unsqueeze(-3).expand(*x.shape[:-2], times, *x.shape[-2:]).flatten(-4, -3)


RULES = (Rule((F.scaled_dot_product_attention,), "grouped-query attention with its keys repeated (coremltools#2855)", grouped),)
