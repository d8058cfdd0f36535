"""Recurrent layers, one step at a time: (sequence, batch, features) in."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.errors import ExplorerError
from explorer.inference.coreml.registry import rule

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": F.relu}


@rule("lstm")
def lstm(
    *,
    x: Tensor,
    initial_h: Tensor,
    initial_c: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    direction: str,
    output_sequence: Tensor,
    recurrent_activation: str,
    cell_activation: str,
    activation: str,
    bias: Tensor | None = None,
    weight_ih_back: Tensor | None = None,
    weight_hh_back: Tensor | None = None,
    bias_back: Tensor | None = None,
    peephole: Tensor | None = None,
    peephole_back: Tensor | None = None,
    clip: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Hidden states of every step (or the last), last hidden, last cell; gates lie in the order input, forget, output, cell."""
    if peephole is not None or clip is not None:
        raise ExplorerError("the reference evaluator has no lstm with peepholes or clipping")
    names = (recurrent_activation, cell_activation, activation)
    if direction != "bidirectional":
        return _lstm(x, initial_h, initial_c, weight_ih, weight_hh, bias, direction == "reverse", bool(output_sequence), names)
    assert weight_ih_back is not None
    assert weight_hh_back is not None
    (h, h_back), (c, c_back) = initial_h.chunk(2, -1), initial_c.chunk(2, -1)
    ahead = _lstm(x, h, c, weight_ih, weight_hh, bias, False, bool(output_sequence), names)
    back = _lstm(x, h_back, c_back, weight_ih_back, weight_hh_back, bias_back, True, bool(output_sequence), names)
    return tuple(torch.cat(pair, -1) for pair in zip(ahead, back, strict=True))


@rule("rnn")
def rnn(
    *,
    x: Tensor,
    initial_h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    direction: str,
    output_sequence: Tensor,
    activation: str,
    bias: Tensor | None = None,
) -> tuple[Tensor, ...]:
    backwards = direction == "reverse"
    hidden, states = initial_h, []
    for step in x.flip(0) if backwards else x:
        hidden = ACTIVATIONS[activation](F.linear(step, weight_ih, bias) + F.linear(hidden, weight_hh))
        states.append(hidden)
    return _sequence(states, backwards, bool(output_sequence)), hidden


def _lstm(
    x: Tensor,
    hidden: Tensor,
    cell: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias: Tensor | None,
    backwards: bool,
    every_step: bool,
    names: tuple[str, str, str],
) -> tuple[Tensor, Tensor, Tensor]:
    gate, candidate, output = (ACTIVATIONS[name] for name in names)
    states = []
    for step in x.flip(0) if backwards else x:
        entered, forgotten, shown, new = (F.linear(step, weight_ih, bias) + F.linear(hidden, weight_hh)).chunk(4, -1)
        cell = gate(forgotten) * cell + gate(entered) * candidate(new)
        hidden = gate(shown) * output(cell)
        states.append(hidden)
    return _sequence(states, backwards, every_step), hidden, cell


def _sequence(states: list[Tensor], backwards: bool, every_step: bool) -> Tensor:
    if not every_step:
        return states[-1].unsqueeze(0)
    return torch.stack(states[::-1] if backwards else states)
