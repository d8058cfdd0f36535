"""Recurrent cells in plain arithmetic: their own decomposition splits in a way coremltools lacks (coremltools#1344)."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.conversion.rewrites.rule import Constants, Function, Rule

Parameters = Any


def lstm_cell(
    constants: Constants, x: Tensor, state: Any, w: Tensor, u: Tensor, b: Tensor | None = None, c: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Gates in the order input, forget, new, output."""
    hidden, memory = state
    into, forget, new, out = _parts(F.linear(x, w, b) + F.linear(hidden, u, c), 4)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(memory), memory


def gru_cell(
    constants: Constants, x: Tensor, hidden: Tensor, w: Tensor, u: Tensor, b: Tensor | None = None, c: Tensor | None = None
) -> Tensor:
    """Gates in the order reset, update, new; the reset gate applies after the product with the hidden state."""
    reset, update, new = _parts(F.linear(x, w, b), 3)
    old_reset, old_update, old_new = _parts(F.linear(hidden, u, c), 3)
    new = torch.tanh(new + torch.sigmoid(reset + old_reset) * old_new)
    keep = torch.sigmoid(update + old_update)
    return new + keep * (hidden - new)


def _plain(activation: Function) -> Function:
    def replace(
        constants: Constants, x: Tensor, hidden: Tensor, w: Tensor, u: Tensor, b: Tensor | None = None, c: Tensor | None = None
    ) -> Any:
        return activation(F.linear(x, w, b) + F.linear(hidden, u, c))

    return replace


def _parts(x: Tensor, count: int) -> list[Tensor]:
    width = x.shape[-1] // count
    return [x[..., at * width : (at + 1) * width] for at in range(count)]


WORDS = "in plain arithmetic (coremltools#1344)"
RULES = (
    Rule((torch.lstm_cell,), f"an LSTM cell {WORDS}", lstm_cell),
    Rule((torch.gru_cell,), f"a GRU cell {WORDS}", gru_cell),
    Rule((torch.rnn_tanh_cell,), f"a recurrent cell {WORDS}", _plain(torch.tanh)),
    Rule((torch.rnn_relu_cell,), f"a recurrent cell {WORDS}", _plain(torch.relu)),
)
