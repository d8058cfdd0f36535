"""Models that convert, and models that cannot or must not."""

import torch
from torch import Tensor, nn

Built = tuple[nn.Module, tuple[Tensor, ...]]


class Calls(nn.Module):
    """One of the functions below, after a linear layer."""

    def __init__(self, name: str, inputs: int) -> None:
        super().__init__()
        self.name = name
        self.linear = nn.Linear(inputs, inputs, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(x)
        if self.name == "branch":
            return x * 2 if bool(x.sum() > 0) else -x
        if self.name == "overflow":
            return x * torch.rsqrt((x * x * 1e6).mean(-1, keepdim=True) + 1e-6)
        if self.name == "large_integer":
            return (x.long() + 3_000_000_000).float()
        if self.name == "fixed_batch":
            return x.reshape(1, 2, -1).sum(-1)
        output: Tensor = torch.linalg.inv(x)
        return output


class Cell(nn.Module):
    """An LSTM cell, which coremltools has no rule for."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.cell(x)[0]
        return output


class Recurrent(nn.Module):
    """An LSTM, which only tracing converts."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.lstm(x)[0][:, -1]
        return output


class Named(nn.Module):
    """Gives a dict."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"y": x}


def branch() -> Built:
    return Calls("branch", 4), (torch.randn(1, 4),)


def overflow() -> Built:
    return Calls("overflow", 16), (torch.randn(1, 16),)


def large_integer() -> Built:
    return Calls("large_integer", 4), (torch.randn(1, 4),)


def fixed_batch() -> Built:
    return Calls("fixed_batch", 8), (torch.randn(1, 8),)


def inverse() -> Built:
    return Calls("inverse", 4), (torch.randn(1, 4, 4),)


def cell() -> Built:
    return Cell(), (torch.randn(1, 4),)


def recurrent() -> Built:
    return Recurrent(), (torch.randn(1, 6, 4),)


def encoder() -> Built:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)), (torch.randn(1, 5, 16),)


def tokens() -> Built:
    return nn.Sequential(nn.Embedding(50, 8), nn.Flatten(), nn.Linear(56, 3)), (torch.randint(0, 50, (1, 7)),)


def small() -> Built:
    return nn.Linear(4, 2), (torch.randn(1, 4),)


def named() -> Built:
    return Named(), (torch.randn(1, 4),)


def two_inputs() -> Built:
    return nn.Bilinear(2, 2, 2), (torch.randn(1, 2), torch.randn(1, 2))


def no_example() -> nn.Module:
    return nn.Linear(4, 2)
