"""What the modules, their weights and the ports tell without a graph."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import nn

from explorer.conversion.ports import Traced
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

LARGEST_INT32 = 2**31 - 1
LARGEST_HALF = 65504.0
ModuleCheck = Callable[[Traced, ConvertSpec, bool], Iterator[Finding]]


def training_mode(traced: Traced, spec: ConvertSpec, was_training: bool) -> Iterator[Finding]:
    """Layers that behave otherwise in training; the conversion uses evaluation mode."""
    names = [path or "the model" for path, item in traced.original.named_modules() if item.training and _differs(item)]
    if was_training or names:
        yield Finding(
            severity="info",
            title="mended: the model was in training mode",
            evidence=", ".join(names[:4]),
            remedy="it is converted in evaluation mode; call eval() to say so yourself",
        )


def _differs(module: nn.Module) -> bool:
    """Whether a layer computes something else in training mode."""
    if isinstance(module, nn.modules.dropout._DropoutNd | nn.RReLU | nn.modules.batchnorm._BatchNorm):
        return True
    return (
        float(getattr(module, "dropout", 0.0) or 0.0) > 0.0 if isinstance(module, nn.RNNBase | nn.MultiheadAttention) else False
    )


def wide_integers(traced: Traced, spec: ConvertSpec, was_training: bool) -> Iterator[Finding]:
    """Buffers that Core ML's 32-bit integers cannot hold."""
    if spec.target != "coreml":
        return
    for name, value in traced.original.state_dict().items():
        if value.dtype == torch.int64 and value.numel() and int(value.abs().max()) > LARGEST_INT32:
            yield Finding(
                severity="error",
                title=f"the buffer {name} holds integers beyond 32 bit, which Core ML lacks",
                evidence=name,
                remedy="keep it below 2147483648, or as float32",
            )


def weights_beyond_half(traced: Traced, spec: ConvertSpec, was_training: bool) -> Iterator[Finding]:
    """Finite weights and buffers that float16 turns infinite."""
    if spec.target != "coreml" or spec.precision != "float16":
        return
    for name, value in traced.original.state_dict().items():
        if value.is_floating_point() and value.numel():
            largest = _largest(value)
            if largest > LARGEST_HALF:
                yield Finding(
                    severity="warning",
                    title=f"{name} reaches {largest:.3g}, float16 ends at 65504",
                    evidence=name,
                    remedy="use -1e4 in a mask, scale it, or convert with precision float32",
                )


def _largest(value: torch.Tensor) -> float:
    """The largest finite magnitude."""
    low, high = map(float, value.aminmax())
    if math.isfinite(low) and math.isfinite(high):
        return max(-low, high)
    return float(value.abs().nan_to_num(0.0, 0.0, 0.0).max())


def complex_inputs(traced: Traced, spec: ConvertSpec, was_training: bool) -> Iterator[Finding]:
    """Inputs that no target has a type for."""
    for port in traced.inputs:
        if port.dtype.is_complex:
            yield Finding(
                severity="error",
                title=f"the input {port.name} is complex",
                evidence=port.words(),
                remedy="take real and imaginary part as two inputs",
            )


MODULE_CHECKS: tuple[ModuleCheck, ...] = (training_mode, wide_integers, weights_beyond_half, complex_inputs)
