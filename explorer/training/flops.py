"""Counts the operations of a training step without running it."""

import copy
import math
from collections.abc import Sequence

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from explorer.training.losses import loss_of

# Tensors on this device have shapes and no values: nothing is computed, no random number drawn, no memory held.
SHAPES_ONLY = "meta"


def flops_per_sample(module: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> float | None:
    """Multiplications and additions of one sample forward and backward, from one batch; `module` is left as it is.

    Two for each multiplication with its addition, in matrix products, convolutions and attention, as torch counts them.
    None for a module that torch cannot follow by shapes alone, such as one that branches on values.
    """
    try:
        twin = _twin(module).train()
        with torch.device(SHAPES_ONLY), torch.random.fork_rng(devices=[]), torch.enable_grad(), _counter() as counter:
            outputs = twin(inputs.to(SHAPES_ONLY))
            loss_of(outputs, targets.to(SHAPES_ONLY)).backward()  # type: ignore[no-untyped-call]
        return float(counter.get_total_flops()) / len(inputs)
    except Exception:
        return None


def _counter() -> FlopCounterMode:
    return FlopCounterMode(display=False, custom_mapping={torch.ops.aten.convolution_backward: _convolution_backward})


def _convolution_backward(
    gradient: Sequence[int],
    inputs: Sequence[int],
    weight: Sequence[int],
    bias: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    wanted: Sequence[bool],
    **out: object,
) -> int:
    """Shapes to operations: the gradients of input and weight cost as much as the forward pass, each.

    torch's own formula leaves out groups, which makes a depthwise convolution as dear as a full one.
    """
    return 2 * math.prod(inputs if transposed else gradient) * math.prod(weight[1:]) * sum(wanted[:2])


def _twin(module: nn.Module) -> nn.Module:
    """A copy whose parameters and buffers have shapes only; those that are shared stay shared."""
    values: dict[int, object] = {id(buffer): buffer.detach().to(SHAPES_ONLY) for buffer in module.buffers()}
    for parameter in module.parameters():
        values[id(parameter)] = nn.Parameter(parameter.detach().to(SHAPES_ONLY), requires_grad=parameter.requires_grad)
    return copy.deepcopy(module, values)
