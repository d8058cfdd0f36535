"""Models with ports of every kind."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Tokens(nn.Module):
    """Several inputs, one nested; a dict with None, a flag and a scalar out."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(50, 8), nn.Linear(8, 3)

    def forward(self, ids: Tensor, mask: Tensor, extra: dict[str, list[Tensor]] | None = None) -> dict[str, Tensor | None]:
        x = self.embedding(ids) * mask.unsqueeze(-1)
        if extra is not None:
            x = x + extra["bias"][0]
        return {"logits": self.linear(x).mean(1), "hidden": x, "none": None, "flag": ids.sum() > 40, "total": x.sum()}


def nested() -> tuple[nn.Module, dict[str, Any]]:
    extra = {"bias": [torch.randn(8)]}
    return Tokens(), {"ids": torch.randint(0, 50, (1, 6)), "mask": torch.ones(1, 6), "extra": extra}


def tokens() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Tokens(), (torch.randint(0, 50, (1, 6)), torch.ones(1, 6))


@dataclass
class Pair:
    """A container that torch.export does not know."""

    a: Tensor
    b: Any = None


class Statistics(NamedTuple):
    """Two outputs by name."""

    mean: Tensor
    std: Tensor


class Measures(nn.Module):
    """A dataclass in, a named tuple out."""

    def forward(self, pair: Pair) -> Statistics:
        return Statistics(pair.a.mean(-1), pair.a.std(-1) + pair.b["q"])


def containers() -> tuple[nn.Module, tuple[Pair]]:
    return Measures(), (Pair(torch.randn(2, 5), {"q": torch.tensor([1.0, 2.0])}),)


class Chosen(nn.Module):
    """A bool and a scalar among the inputs."""

    def forward(self, x: Tensor, mask: Tensor, factor: Tensor) -> Tensor:
        return torch.where(mask, x, -x) * factor


def chosen() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Chosen(), (torch.randn(2, 4), torch.rand(2, 4) > 0.5, torch.tensor(3.0))


class Passed(nn.Module):
    """Gives inputs back, one twice."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x, y, x


def passed() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Passed(), (torch.randn(1, 3), torch.randn(1, 3))


class Mean(nn.Module):
    """Gives a scalar."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean()


def mean() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Mean(), (torch.randn(3, 4),)


def double() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return nn.Linear(4, 2).double(), (torch.randn(1, 4, dtype=torch.float64),)


def no_example() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())


class Picture(nn.Module):
    """Five scores of a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.linear(torch.relu(self.convolution(x)).mean((2, 3)))
        return scores


def picture() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Picture(), (torch.randn(1, 3, 16, 16),)


class Attention(nn.Module):
    """Any length of the second dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.linear(x) @ self.linear(x).transpose(1, 2)
        return torch.softmax(scores, -1) @ x


def attention() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Attention(), (torch.randn(1, 6, 4),)


class Sum(nn.Module):
    """Adds up what it was given so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 4))
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.get_buffer("total").add_(x)
        output: Tensor = self.linear(self.get_buffer("total"))
        return output


class Around(nn.Module):
    """The same one module deeper."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Sum()

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.inner(x) + 1
        return output


def adding() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Around(), (torch.randn(1, 4),)


class Half(nn.Module):
    """Fails below four rows."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.max_pool1d(x, 4, 4)


def pooled() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Half(), (torch.randn(1, 2, 8),)
