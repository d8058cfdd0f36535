"""A model as the converters can take it: with calls replaced, proven equal before it is used."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from explorer.conversion.rewrites import (
    activation,
    adaptive_pooling,
    assignment,
    attention,
    cells,
    complex_numbers,
    cumulative,
    diagonals,
    distances,
    einsum,
    folding,
    fourier,
    inverse,
    log_sum_exp,
    masked_scatter,
    masks,
    nan_means,
    normalization,
    padding,
    pool_indices,
    pooling,
    resizing,
    searching,
    windows,
)
from explorer.conversion.rewrites.mode import Rewritten
from explorer.conversion.rewrites.rule import Rule, Target
from explorer.inference.coreml.quiet import quiet
from explorer.inference.torch_settings import plain_attention

RELATIVE_TOLERANCE = 1e-5
FILES = (
    masks, activation, adaptive_pooling, assignment, attention, cells, complex_numbers, cumulative, diagonals, distances, einsum,
    folding, fourier, inverse, log_sum_exp, masked_scatter, nan_means, normalization, padding, pool_indices, pooling, resizing,
    searching, windows,
)  # fmt: skip
RULES: tuple[Rule, ...] = tuple(rule for file in FILES for rule in file.RULES)


def rewritten(
    module: nn.Module, examples: Sequence[Any], target: Target, rules: Sequence[Rule] = RULES
) -> tuple[nn.Module, list[str]]:
    """`module` (in evaluation mode) with what the target's converter cannot take replaced, and a line for each replacement.

    The module itself and no lines when nothing applies, when the copy does not run, or when it differs on `examples` or their
    mirror images by more than 1e-5 of the largest output. `examples` are the positional inputs.
    """
    chosen = [rule for rule in rules if target in rule.targets]
    with quiet(), torch.no_grad(), plain_attention():
        try:
            changed = Rewritten(complex_numbers.without_complex_buffers(module), chosen)
            lines = _recorded(changed, examples)
            equal = bool(lines) and all(_equal(module, changed, inputs) for inputs in (examples, _mirrored(examples)))
        except Exception:  # whatever a model's code raises: it then converts as it is, or not at all
            return module, []
    return (changed, lines) if equal else (module, [])


def _recorded(changed: Rewritten, examples: Sequence[Any]) -> list[str]:
    """Run once to make the constants, and give what was replaced."""
    changed.uses.watch(changed.module)
    try:
        changed(*_cloned(examples))
    finally:
        changed.uses.forget()
        changed.constants.recording = False
    return changed.uses.lines()


def _equal(module: nn.Module, changed: nn.Module, inputs: Sequence[Any]) -> bool:
    expected, spec = pytree.tree_flatten(module(*_cloned(inputs)))
    got, structure = pytree.tree_flatten(changed(*_cloned(inputs)))
    return spec == structure and all(_close(one, other) for one, other in zip(expected, got, strict=True))


def _close(expected: Any, got: Any) -> bool:
    if not isinstance(expected, Tensor) or not isinstance(got, Tensor):
        return type(expected) is type(got) and bool(expected == got)
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return False
    if not expected.is_floating_point():
        return torch.equal(expected, got)
    finite = expected[expected.isfinite()]
    scale = max(float(finite.abs().max()) if finite.numel() else 0.0, 1e-6)
    return bool(torch.isclose(got, expected, rtol=0, atol=RELATIVE_TOLERANCE * scale, equal_nan=True).all())


def _mirrored(examples: Sequence[Any]) -> list[Any]:
    return [-item if isinstance(item, Tensor) and item.is_floating_point() else item for item in examples]


def _cloned(examples: Sequence[Any]) -> list[Any]:
    return [item.clone() if isinstance(item, Tensor) else item for item in examples]
