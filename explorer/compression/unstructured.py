"""Unstructured pruning: the smallest weights of the whole network become zero, for good."""

import torch
from torch import nn
from torch.nn.utils import prune

from explorer.errors import ExplorerError

WEIGHT_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def zero_smallest(module: nn.Module, amount: float) -> None:
    """Set the share `amount` of all linear and convolution weights to zero in place, smallest magnitude (L1) of all first.

    The masks are removed at once, so the state dict keeps its names and shapes; tied weights stay tied.
    """
    layers = [(layer, "weight") for layer in weight_layers(module)]
    if not layers:
        raise ExplorerError(f"{type(module).__name__} has no linear or convolution layer", "there is nothing to prune in it")
    prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=amount)
    for layer, name in layers:
        prune.remove(layer, name)  # type: ignore[no-untyped-call]


def weight_layers(module: nn.Module) -> list[nn.Module]:
    """The linear and convolution layers, one for each weight tensor."""
    by_weight = {id(layer.weight): layer for layer in module.modules() if isinstance(layer, WEIGHT_LAYERS)}
    return list(by_weight.values())


def zero_share(module: nn.Module) -> float:
    """Share of zeros among the linear and convolution weights, 0..1."""
    weights = [layer.weight for layer in weight_layers(module) if isinstance(layer.weight, torch.Tensor)]
    zeros = sum(int(torch.count_nonzero(weight == 0)) for weight in weights)
    return zeros / max(1, sum(weight.numel() for weight in weights))
