"""Optimizers from a spec."""

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec


def make_optimizer(module: nn.Module, spec: TrainSpec) -> torch.optim.Optimizer:
    """The spec's optimizer over the parameters that train; raises when none does, or one has sparse gradients."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.Embedding | nn.EmbeddingBag) and layer.sparse and layer.weight.requires_grad:
            what = f"{name or 'the model'} ({type(layer).__name__})"
            raise ExplorerError(f"{what} has sparse gradients, whose norm torch cannot take", "build it with sparse=False")
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not parameters:
        raise ExplorerError("the model has no parameters that train", "set requires_grad on some of them")
    decay = spec.weight_decay
    if spec.optimizer == "sgd":
        return torch.optim.SGD(parameters, spec.learning_rate, momentum=spec.momentum, weight_decay=decay)
    if spec.optimizer == "rmsprop":
        return torch.optim.RMSprop(parameters, spec.learning_rate, momentum=spec.momentum, weight_decay=decay)
    kind = torch.optim.AdamW if spec.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, spec.learning_rate, weight_decay=decay)
