"""Small networks that pruning meets: residual, depthwise, tied, and attention that names its width."""

import torch
from torch import nn

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


class Residual(nn.Module):
    """Channels tied by an addition, then one output of four classes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.inner = nn.Conv2d(16, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.classes = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.relu(x + self.norm(self.inner(x)))
        logits: torch.Tensor = self.classes(x.mean(dim=(2, 3)))
        return logits


class TwoHeads(nn.Module):
    """Two outputs from one trunk: the layers of both must keep their width."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Linear(8, 32)
        self.score = nn.Linear(32, 3)
        self.value = nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.relu(self.trunk(x))
        return self.score(x), self.value(x)


class SumOfTwo(nn.Module):
    """The output is a sum, so both of its layers must keep their width."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Linear(8, 32)
        self.one = nn.Linear(32, 6)
        self.other = nn.Linear(32, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.trunk(x))
        output: torch.Tensor = self.one(x) + self.other(x)
        return output


class Tied(nn.Module):
    """Encoder and decoder share one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Linear(16, 16, bias=False)
        self.decode = nn.Linear(16, 16, bias=False)
        self.decode.weight = self.encode.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.decode(torch.relu(self.encode(x)))
        return output


class NamesItsWidth(nn.Module):
    """Splits channels by a number written in the code."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(32, 32)
        self.out = nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.qkv(x).reshape(x.shape[0], 4, 8)
        output: torch.Tensor = self.out(heads.transpose(1, 2).reshape(x.shape[0], 32))
        return output


def residual() -> Built:
    return Residual(), (torch.rand(2, 1, 8, 8),)


def depthwise() -> Built:
    layers = [nn.Conv2d(1, 16, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, groups=16, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 64, 10)), (torch.rand(1, 1, 8, 8),)


def two_heads() -> Built:
    return TwoHeads(), (torch.rand(1, 8),)


def sum_of_two() -> Built:
    return SumOfTwo(), (torch.rand(1, 8),)


def names_its_width() -> Built:
    return NamesItsWidth(), (torch.rand(2, 32),)
