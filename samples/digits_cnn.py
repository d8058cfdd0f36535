"""A small convolutional network for 8x8 digits: plain layers that convert, quantize and prune."""

import torch
from torch import nn
from torch.nn import functional as F


class DigitsCNN(nn.Module):
    """(N, 1, 8, 8) with values in 0..1 to (N, 10) logits; 96 K parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.conv3 = nn.Conv2d(64, 64, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(32)
        self.norm2 = nn.BatchNorm2d(64)
        self.norm3 = nn.BatchNorm2d(64)
        self.hidden = nn.Linear(64 * 2 * 2, 150)
        self.classes = nn.Linear(150, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(self.norm2(self.conv2(x)))
        x = F.max_pool2d(x, kernel_size=2, stride=2)
        x = F.relu(self.norm3(self.conv3(x)))
        x = F.max_pool2d(x, kernel_size=2, stride=2)
        x = F.relu(self.hidden(torch.flatten(x, 1)))
        logits: torch.Tensor = self.classes(x)
        return logits


def digits_cnn() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The model and an example input."""
    return DigitsCNN(), (torch.rand(1, 1, 8, 8),)
