"""The longer functions of the cases."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Item(nn.Module):
    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def forward(self, values: tuple[Tensor, ...]) -> Tensor:
        return values[self.index]


def tuple_of(index: int) -> nn.Module:
    """Takes one of several outputs."""
    return Item(index)


class Steps(nn.Module):
    """Runs a cell twice."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Tensor) -> Tensor:
        state = self.cell(x, self.cell(x))
        output: Tensor = state[0] if isinstance(state, tuple) else state
        return output


def cell(module: nn.Module) -> nn.Module:
    return Steps(module)


class ManualLstm(nn.Module):
    """A bidirectional LSTM as a loop over time."""

    def __init__(self) -> None:
        super().__init__()
        self.forth, self.back = nn.Linear(5 + 4, 16), nn.Linear(5 + 4, 16)

    def run(self, gates: nn.Module, steps: list[Tensor]) -> list[Tensor]:
        hidden = state = steps[0].new_zeros(steps[0].shape[0], 4)
        outputs = []
        for step in steps:
            into, forget, new, out = gates(torch.cat([step, hidden], -1)).chunk(4, -1)
            state = torch.sigmoid(forget) * state + torch.sigmoid(into) * torch.tanh(new)
            hidden = torch.sigmoid(out) * torch.tanh(state)
            outputs.append(hidden)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        steps = list(x.unbind(1))
        forth, back = self.run(self.forth, steps), self.run(self.back, steps[::-1])[::-1]
        return torch.stack([torch.cat(pair, -1) for pair in zip(forth, back, strict=True)], 1)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.attention(x, x, x, need_weights=False)[0]
        return output


def index_put(x: Tensor, at: Tensor) -> Tensor:
    y = x * 2
    y[:, at] = x[:, at] * 0 + 7
    return y


def slice_assign(a: Tensor, b: Tensor) -> Tensor:
    a = a.clone()
    a[:, :2] = b[:, :2]
    a[:, 2:].add_(1)
    return a


def half_mask(x: Tensor) -> Tensor:
    keep = torch.tensor([1.0, 1, 0, 1, 0, 1]).expand(6, 6) * torch.tensor([1.0, 1, 1, 1, 1, 0])[:, None]
    return torch.softmax(x + (1 - keep) * torch.finfo(torch.float32).min, -1)


def hand_rms(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def one_hot_cumsum(tokens: Tensor) -> Tensor:
    return F.one_hot(tokens, 5).float().cumsum(1)


class Rotary(nn.Module):
    """Rotary embedding with a complex buffer."""

    turns: Tensor

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(6.0), 1 / 10 ** torch.arange(0, 1, 0.25))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns).flatten(-2).type_as(x)


class LastStates(nn.Module):
    """Both final states of a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, bidirectional=True, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        states: tuple[Tensor, Tensor] = self.lstm(x)[1]
        return states


def assigned_cells(x: Tensor) -> Tensor:
    result = torch.zeros(4)
    result[0] = x[1] - x[13]
    result[2] = x[1] - x[15]
    return result


def scatter_loop(x: Tensor) -> Tensor:
    result = torch.zeros(1, 4)
    for step in range(2):
        result = result.scatter_add(1, torch.tensor([[step, 3, 1, 0]]), x)
    return result


def written_constant(x: Tensor) -> Tensor:
    return x * torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8])
