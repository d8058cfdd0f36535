"""log(sum(exp(x))) as one operation: exp overflows float16 from x = 11.1 on (reported for UForm's encoders, uform#50)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer.conversion.rewrites.marks import Marks, dims_of
from explorer.conversion.rewrites.rule import Constants, Rule

MARKS = Marks()


@dataclass(frozen=True)
class Exponentials:
    """exp(x); their sum over `dims` once those are known."""

    x: Tensor
    dims: tuple[int, ...] = ()
    keepdim: bool = False


def exponential(constants: Constants, x: Tensor) -> Any:
    return MARKS.put(torch.exp(x), Exponentials(x)) if x.is_floating_point() else NotImplemented


def total(constants: Constants, x: Tensor, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
    known = MARKS.get(x)
    if not isinstance(known, Exponentials) or known.dims or named:
        return NotImplemented
    return MARKS.put(torch.sum(x, dim, keepdim=keepdim), Exponentials(known.x, dims_of(x, dim), keepdim))


def logarithm(constants: Constants, x: Tensor) -> Any:
    known = MARKS.get(x)
    if not isinstance(known, Exponentials) or not known.dims:
        return NotImplemented
    return torch.logsumexp(known.x, known.dims, keepdim=known.keepdim)


RULES = (
    Rule((torch.exp, Tensor.exp), "", exponential),
    Rule((torch.sum, Tensor.sum), "", total),
    Rule((torch.log, Tensor.log), "log(sum(exp(x))) as logsumexp, which holds in float16 (uform#50)", logarithm),
)
