"""What a case is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Built = tuple[nn.Module, tuple[Tensor, ...]]
RIGHT = "right"


class Net(nn.Module):
    """One child, `body`, so that an operator in it has a module path to be named by."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, *inputs: Any) -> Any:
        return self.body(*inputs)


class Calls(nn.Module):
    """Calls a function, with its buffers as keywords."""

    def __init__(self, function: Callable[..., Any], **buffers: Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **dict(self.named_buffers()))


@dataclass(frozen=True)
class Case:
    """`build` gives a module and example inputs; `report` is where the trouble was told.

    `coreml` and `onnx` are "right", or a pattern of the operator that a refusal must name; empty means that any refusal will do.
    `further` gives inputs from a seed, where ones like the example will not do.
    """

    name: str
    build: Callable[[], Built]
    report: str
    coreml: str = RIGHT
    onnx: str = RIGHT
    further: Callable[[int], tuple[Tensor, ...]] | None = None

    def inputs(self, seed: int) -> tuple[Tensor, ...]:
        """Inputs that no proof has used; odd seeds give the mirror image of wider ones."""
        torch.manual_seed(1000 + seed)
        if self.further is not None:
            return self.further(seed)
        return tuple(_like(item, seed) for item in self.build()[1])


def of(function: Callable[..., Any], *inputs: Tensor, **buffers: Tensor) -> Built:
    """A net around a function."""
    return net(Calls(function, **buffers), *inputs)


def net(body: nn.Module, *inputs: Tensor) -> Built:
    """A net around a module."""
    return Net(body).eval(), inputs


def image(channels: int = 3, size: int = 8) -> Tensor:
    return torch.randn(1, channels, size, size)


def rows(*shape: int) -> Tensor:
    return torch.randn(1, *(shape or (6, 8)))


def _like(example: Tensor, seed: int) -> Tensor:
    if example.dtype == torch.bool:
        return torch.rand(example.shape) > 0.4
    if not example.is_floating_point():
        return torch.randint(int(example.min()), int(example.max()) + 1, example.shape, dtype=example.dtype)
    drawn = (
        torch.rand(example.shape) * 0.98 + 0.01
        if bool((example > 0).all() and (example < 1).all())
        else torch.randn(example.shape)
    )
    return drawn if bool((example > 0).all()) else drawn * (-1.5 if seed % 2 else 1.0)
