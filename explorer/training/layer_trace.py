"""Which layer was at work when a model failed."""

from types import TracebackType
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

SHOWN = 100


class LayerTrace:
    """Within the block, follows which layer of `module` runs; `refused` names the innermost that did not finish."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._handles: list[RemovableHandle] = []
        self._running: list[str] = []
        self.refused = ""

    def __enter__(self) -> "LayerTrace":
        for name, part in self._module.named_modules():
            if name:
                self._handles.append(part.register_forward_pre_hook(self._entering(name)))
                self._handles.append(part.register_forward_hook(self._leaving))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for handle in self._handles:
            handle.remove()
        if error is not None and self._running:
            self.refused = self._running[-1]

    def _entering(self, name: str) -> Any:
        def enter(part: nn.Module, inputs: tuple[Any, ...]) -> None:
            shapes = ", ".join(_shape(item) for item in inputs if isinstance(item, torch.Tensor)) or "no tensor"
            self._running.append(f"layer {name}, {_words(part)}, got {shapes}")

        return enter

    def _leaving(self, part: nn.Module, inputs: Any, outputs: Any) -> None:
        self._running.pop()


def _words(part: nn.Module) -> str:
    """A leaf as torch prints it, anything else by its class."""
    return type(part).__name__ if list(part.children()) else " ".join(str(part).split())[:SHOWN]


def _shape(tensor: torch.Tensor) -> str:
    return " x ".join(str(size) for size in tensor.shape) or "one number"
