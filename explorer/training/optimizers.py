"""Optimizers and learning rates from a spec."""

import math

import torch
from torch import nn

from explorer.schemas.specs import TrainSpec

WARMUP_SHARE = 0.05


def make_optimizer(module: nn.Module, spec: TrainSpec) -> torch.optim.Optimizer:
    """The spec's optimizer over the parameters that train."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if spec.optimizer == "sgd":
        return torch.optim.SGD(parameters, spec.learning_rate, momentum=spec.momentum, weight_decay=spec.weight_decay)
    kind = torch.optim.AdamW if spec.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, spec.learning_rate, weight_decay=spec.weight_decay)


def learning_rate(spec: TrainSpec, step: int, total_steps: int) -> float:
    """The rate of step `step` of `total_steps` (from 0), a pure function, so that a resumed run needs no scheduler state.

    cosine: a linear rise over the first 5 %, then half a cosine to zero (Loshchilov and Hutter 2017, without restarts).
    """
    if spec.schedule == "constant":
        return spec.learning_rate
    warmup = max(1, round(WARMUP_SHARE * total_steps))
    if step < warmup:
        return spec.learning_rate * (step + 1) / warmup
    share = (step - warmup) / max(1, total_steps - warmup)
    return spec.learning_rate * 0.5 * (1 + math.cos(math.pi * share))
