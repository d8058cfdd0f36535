"""Give a freshly built module the shapes of a structurally pruned one."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd


def resize_to(module: nn.Module, state_dict: Mapping[str, torch.Tensor]) -> None:
    """Replace parameters and buffers whose shape differs by empty ones of the shape in `state_dict`, and mend the layers' sizes.

    Values are undefined until `load_state_dict`. Tied parameters stay tied. Names that only one side has are left alone.
    """
    replaced: dict[int, nn.Parameter] = {}
    for path, layer in module.named_modules():
        before = _depthwise(layer)
        for name in [*layer._parameters, *layer._buffers]:
            wanted = state_dict.get(f"{path}.{name}" if path else name)
            if wanted is not None:
                _resize(layer, name, wanted.shape, replaced)
        _set_sizes(layer, before)


def _resize(layer: nn.Module, name: str, shape: torch.Size, replaced: dict[int, nn.Parameter]) -> None:
    parameter = layer._parameters.get(name)
    if parameter is not None:
        if parameter.shape != shape or id(parameter) in replaced:
            new = nn.Parameter(parameter.detach().new_empty(shape), requires_grad=parameter.requires_grad)
            layer._parameters[name] = replaced.setdefault(id(parameter), new)
        return
    buffer = layer._buffers.get(name)
    if buffer is not None and buffer.shape != shape:
        layer._buffers[name] = buffer.new_empty(shape)


def _depthwise(layer: nn.Module) -> bool:
    return isinstance(layer, _ConvNd) and layer.groups > 1 and layer.groups == layer.in_channels


def _set_sizes(layer: nn.Module, depthwise: bool) -> None:
    """Layer attributes that repeat a shape; code and exporters read them."""
    if isinstance(layer, _ConvNd):
        _set_conv_sizes(layer, depthwise)
    elif isinstance(layer, nn.Linear):
        layer.out_features, layer.in_features = layer.weight.shape
    elif isinstance(layer, nn.Embedding):
        layer.num_embeddings, layer.embedding_dim = layer.weight.shape
    elif isinstance(layer, nn.LayerNorm) and layer.elementwise_affine:
        layer.normalized_shape = tuple(layer.weight.shape)
    elif isinstance(layer, nn.GroupNorm) and layer.affine:
        layer.num_channels = layer.weight.shape[0]
    elif isinstance(layer, _NormBase):
        first = layer.weight if layer.affine else layer.running_mean
        layer.num_features = layer.num_features if first is None else first.shape[0]


def _set_conv_sizes(layer: _ConvNd, depthwise: bool) -> None:
    """Depthwise layers keep one group an input channel; other grouped layers keep their number of groups."""
    first, second = layer.weight.shape[:2]
    if depthwise:
        multiplier = layer.out_channels // layer.in_channels
        layer.groups = first if layer.transposed else first // multiplier
    sizes = (first, second * layer.groups)
    layer.in_channels, layer.out_channels = sizes if layer.transposed else sizes[::-1]
