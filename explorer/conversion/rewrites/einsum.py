"""einsum with an ellipsis: coremltools takes letters only (coremltools#2706), so it is spelled out."""

import string
from typing import Any

import torch

from explorer.conversion.rewrites.rule import Constants, Rule


def spelled(constants: Constants, equation: Any, *operands: Any) -> Any:
    """The same contraction with letters for the ellipsis, two operands at a time."""
    if not isinstance(equation, str) or "..." not in equation:
        return NotImplemented
    tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
    return torch.einsum(letters(equation, [item.ndim for item in tensors]), *tensors)


def letters(equation: str, ranks: list[int]) -> str:
    """`equation` without an ellipsis, for operands of these ranks; its dimensions are aligned from the right."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    hidden = [rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    shared = "".join(free[: max(hidden)])
    spelled = [term.replace("...", shared[len(shared) - count :]) for term, count in zip(terms, hidden, strict=True)]
    if not arrow:
        once = sorted(letter for letter in set(left) - set(".,") if left.count(letter) == 1)
        right = "..." + "".join(once)
    return f"{','.join(spelled)}->{right.replace('...', shared)}"


RULES = (Rule((torch.einsum,), "einsum with its ellipsis spelled out (coremltools#2706)", spelled),)
