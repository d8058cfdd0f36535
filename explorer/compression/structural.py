"""Structural pruning: whole channels leave, so the network that stays is really smaller.

Channels that depend on each other through additions, normalization or concatenation leave together
(DepGraph, Fang et al. 2023, by torch-pruning); those with the smallest L2 norm over their group go first.
"""

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch_pruning
from torch import nn

from explorer.compression.unstructured import WEIGHT_LAYERS
from explorer.errors import ExplorerError

Inputs = tuple[torch.Tensor, ...]
# Kernels work on 8 or 16 channels at once, so a width between multiples costs as much as the next one.
ROUND_TO = 8
Shapes = list[tuple[int, ...]]


@dataclass(frozen=True)
class Cut:
    """A pruned copy; `fixed` names the layers inside that had to keep their width, and `reason` says what broke otherwise."""

    module: nn.Module
    fixed: list[str]
    reason: str


def without_channels(module: nn.Module, example_inputs: Inputs, amount: float) -> Cut:
    """A copy of `module` that lost the share `amount` of the channels of each layer; outputs keep their shape.

    Layers whose width the code counts on, such as the heads of an attention, are found by trying and keep theirs.
    Raises `ExplorerError` when no layer can lose a channel.
    """
    original = copy.deepcopy(module).cpu().eval()
    outputs = _output_layers(original, example_inputs)
    try:
        cut = Cut(_pruned(original, example_inputs, amount, outputs), [], "")
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        fixed = [name for name in _fixed_layers(original, example_inputs) if name not in outputs]
        cut = Cut(_without_some(original, example_inputs, amount, [*outputs, *fixed], reason), fixed, reason)
    if parameters(cut.module) == parameters(module):
        raise _impossible(original, cut.reason or "its only weights give its outputs")
    return cut


def parameters(module: nn.Module) -> int:
    """Number of trainable values."""
    return sum(parameter.numel() for parameter in module.parameters())


def tensors(output: Any) -> list[torch.Tensor]:
    """The tensors in a model's output, whether that is one, a tuple, a list or a dictionary of them."""
    if isinstance(output, torch.Tensor):
        return [output]
    items = output.values() if isinstance(output, dict) else output
    return [tensor for item in items for tensor in tensors(item)]


def _without_some(original: nn.Module, example_inputs: Inputs, amount: float, kept: list[str], reason: str) -> nn.Module:
    try:
        return _pruned(original, example_inputs, amount, kept)
    except Exception as error:
        raise _impossible(original, reason) from error


def _pruned(original: nn.Module, example_inputs: Inputs, amount: float, kept: list[str]) -> nn.Module:
    """A pruned copy that was run once; `kept` names layers that keep their channels."""
    module = copy.deepcopy(original)
    with _quiet():
        pruner = torch_pruning.pruner.BasePruner(
            module,
            example_inputs,
            importance=torch_pruning.importance.GroupMagnitudeImportance(p=2),
            pruning_ratio=amount,
            round_to=_round_to(module, kept),
            ignored_layers=[module.get_submodule(name) for name in kept],
        )
        pruner.step()
    _check_shapes(original, module, example_inputs)
    return module


def _round_to(module: nn.Module, kept: list[str]) -> int | None:
    """The multiple to which widths are rounded; None for a network too narrow to lose that many channels."""
    widths = [
        int(getattr(layer, "out_channels", 0) or getattr(layer, "out_features", 0))
        for name, layer in _layers(module)
        if name not in kept
    ]
    return ROUND_TO if widths and min(widths) >= 2 * ROUND_TO else None


def _fixed_layers(original: nn.Module, example_inputs: Inputs) -> list[str]:
    """Names of the layers that cannot lose a single channel, each tried on a copy of its own."""
    return [name for name, _ in _layers(original) if not _can_lose_a_channel(original, example_inputs, name)]


def _can_lose_a_channel(original: nn.Module, example_inputs: Inputs, name: str) -> bool:
    module = copy.deepcopy(original)
    layer = module.get_submodule(name)
    try:
        with _quiet():
            graph = torch_pruning.DependencyGraph().build_dependency(module, example_inputs=example_inputs)
            remove = graph.get_pruner_of_module(layer).prune_out_channels
            graph.get_pruning_group(layer, remove, idxs=[0]).prune()
        _check_shapes(original, module, example_inputs)
    except Exception:  # whatever the user's forward() raises on another width
        return False
    return True


def _output_layers(module: nn.Module, example_inputs: Inputs) -> list[str]:
    """The layers whose channels are the model's outputs: the last one that runs, and any whose output is returned as it is."""
    ran: list[tuple[str, torch.Tensor]] = []
    handles = [
        layer.register_forward_hook(lambda _layer, _inputs, output, name=name: ran.append((name, output)))
        for name, layer in _layers(module)
    ]
    try:
        with torch.no_grad():
            outputs = tensors(module(*example_inputs))
    finally:
        for handle in handles:
            handle.remove()
    returned = [name for name, output in ran if any(output is one for one in outputs)]
    return list(dict.fromkeys([*returned, *(name for name, _ in ran[-1:])]))


def _layers(module: nn.Module) -> list[tuple[str, nn.Module]]:
    return [(name, layer) for name, layer in module.named_modules() if isinstance(layer, WEIGHT_LAYERS)]


def _check_shapes(original: nn.Module, pruned: nn.Module, example_inputs: Inputs) -> None:
    expected, found = _output_shapes(original, example_inputs), _output_shapes(pruned, example_inputs)
    if expected != found:
        raise ValueError(f"its output would change from {expected} to {found}")


def _output_shapes(module: nn.Module, example_inputs: Inputs) -> Shapes:
    with torch.no_grad():
        return [tuple(output.shape) for output in tensors(module(*example_inputs))]


@contextmanager
def _quiet() -> Iterator[None]:
    """torch-pruning warns of plain parameters, which it prunes along their last dimension as wanted."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unwrapped parameters detected", category=UserWarning)
        yield


def _impossible(module: nn.Module, reason: str) -> ExplorerError:
    return ExplorerError(
        f"no layer of {type(module).__name__} can lose channels ({reason})",
        "use --method l1_unstructured, or take widths from tensors in forward()",
    )
