"""A linear regression: the smallest model that can be trained, converted and measured."""

import torch
from torch import nn


class SimpleModel(nn.Module):
    """(N, 10) to (N, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(10, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.linear(x)
        return output


def simple_model() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The model and an example input."""
    return SimpleModel(), (torch.randn(1, 10),)
