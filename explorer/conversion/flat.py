"""Any module as one that takes tensors by position and gives a tuple of tensors, which is all that converters understand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.conversion.declared import ImageOptions
from explorer.conversion.structure import filled, leaves


@dataclass(frozen=True)
class Adapter:
    """What becomes of one input before the source sees it: pixels scaled by channel, a size of one taken off, a type."""

    dtype: torch.dtype | None = None
    image: ImageOptions | None = None
    is_scalar: bool = False

    def apply(self, value: Tensor) -> Tensor:
        if self.image is not None:
            shape = (1, self.image.channels, 1, 1)
            value = value * torch.tensor(self.image.multipliers).reshape(shape) + torch.tensor(self.image.offsets).reshape(shape)
        if self.is_scalar:
            value = value.reshape(())
        return value if self.dtype is None else value.to(self.dtype)


class Flat(nn.Module):
    """Calls `original` with `template` filled by the given tensors; with `whole`, for Core ML, bool outputs become int32.

    Its parameters, buffers and children are the source's own under their own names, so that states, operators and messages
    name what the user wrote.
    """

    source: nn.Module

    def __init__(self, original: nn.Module, template: Any, adapters: Sequence[Adapter], whole: bool) -> None:
        super().__init__()
        if isinstance(original, torch.jit.ScriptModule):
            self.model = original
        else:
            self._parameters, self._buffers, self._modules = original._parameters, original._buffers, original._modules
            self._non_persistent_buffers_set = original._non_persistent_buffers_set
        object.__setattr__(self, "source", original)
        self.template = template
        self.adapters = list(adapters)
        self.whole = whole
        self.training = original.training

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values = [adapter.apply(value) for adapter, value in zip(self.adapters, inputs, strict=True)]
        outputs = [item for _, item in leaves(self.called(values))]
        if not self.whole:
            return tuple(outputs)
        # A value under two names, or an input given back, would lose a name.
        before = [*inputs, *values]
        apart = [_apart(item, [*before, *outputs[:index]]) for index, item in enumerate(outputs)]
        return tuple(item.int() if item.dtype == torch.bool else item for item in apart)

    def called(self, values: Sequence[Tensor]) -> Any:
        """What the source gives for its own tensors, in its own structure."""
        args, kwargs = filled(self.template, values)
        model = self.model if isinstance(self.source, torch.jit.ScriptModule) else self.source
        return model(*args, **kwargs)


def _apart(value: Tensor, others: Sequence[Tensor]) -> Tensor:
    """The value as one of its own: its sign turned twice for each of the others that it is, which no pass merges."""
    result = value
    for _ in range(sum(value is item for item in others)):
        result = result.neg().neg()
    return result
