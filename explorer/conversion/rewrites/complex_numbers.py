"""Complex numbers as pairs of real tensors: coremltools has a few of their operations only (coremltools#2003, #1539)."""

import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from explorer.conversion.rewrites.complex_pair import Pair, is_complex_dtype
from explorer.conversion.rewrites.rule import BOTH, Constants, Rule

WORDS = "complex numbers as pairs of real ones (coremltools#2003)"


def combined(constants: Constants, real: Tensor, imag: Tensor) -> Pair:
    return Pair(real, imag)


def polar(constants: Constants, absolute: Tensor, angle: Tensor) -> Pair:
    return Pair(absolute * torch.cos(angle), absolute * torch.sin(angle))


def viewed(constants: Constants, x: Tensor) -> Pair:
    return Pair(x[..., 0], x[..., 1])


def times(constants: Constants, x: Any, other: Any) -> Any:
    """A real tensor with an imaginary number."""
    for tensor, number in ((x, other), (other, x)):
        if isinstance(tensor, Tensor) and isinstance(number, complex):
            return Pair(tensor * number.real, tensor * number.imag)
    return NotImplemented


def converted(constants: Constants, x: Any, *rest: Any, **named: Any) -> Any:
    wanted = next((item for item in (*rest, *named.values()) if isinstance(item, torch.dtype)), None)
    return (
        Pair(x, torch.zeros_like(x))
        if isinstance(x, Tensor) and wanted is not None and is_complex_dtype(wanted)
        else NotImplemented
    )


def without_complex_buffers(module: nn.Module) -> nn.Module:
    """A copy with each complex buffer held as two real ones and given as a pair to whoever reads it; itself when it has none."""
    if not any(map(_complex_names, module.modules())):
        return module
    changed = copy.deepcopy(module)
    for child in list(changed.modules()):
        names = _complex_names(child)
        if names:
            _split(child, names)
    return changed


def _complex_names(module: nn.Module) -> list[str]:
    """Buffers and plain attributes that are complex tensors."""
    found = {**dict(module.named_buffers(recurse=False)), **vars(module)}
    return [name for name, value in found.items() if isinstance(value, Tensor) and value.is_complex()]


def _split(module: nn.Module, names: list[str]) -> None:
    kind = type(module)
    properties = {}
    for name in names:
        value = getattr(module, name)
        delattr(module, name)
        module.register_buffer(f"{name}_real", value.real.clone().contiguous())
        module.register_buffer(f"{name}_imaginary", value.imag.clone().contiguous())
        properties[name] = property(partial(_pair, name))
    module.__class__ = type(kind.__name__, (kind,), properties)


def _pair(name: str, module: nn.Module) -> Pair:
    return Pair(getattr(module, f"{name}_real"), getattr(module, f"{name}_imaginary"))


RULES = (
    Rule((torch.complex,), WORDS, combined),
    Rule((torch.polar,), WORDS, polar),
    Rule((torch.view_as_complex,), WORDS, viewed),
    Rule((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__), WORDS, times, BOTH),
    Rule((Tensor.to, Tensor.type), WORDS, converted),
)
