"""Matrix products and attention."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("linear")
def linear(*, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight, bias)


@rule("matmul")
def matmul(*, x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    left = x.transpose(-1, -2) if transpose_x and x.ndim > 1 else x
    right = y.transpose(-1, -2) if transpose_y and y.ndim > 1 else y
    return torch.matmul(left, right)


@rule("einsum")
def einsum(*, values: tuple[Tensor, ...], equation: str) -> Tensor:
    return torch.einsum(equation, *values)


@rule("scaled_dot_product_attention")
def attention(*, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """softmax(Q K^T / sqrt(E) + mask) V; a boolean mask keeps what is true."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.softmax(scores, -1) @ value
