"""Recurrent layers, (sequence, batch, features) in; torch's own LSTM where the program asks for nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import Function, flags, rule, specialised

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": F.relu,
    "linear": lambda x: x,
    "hard_sigmoid": lambda x: (0.2 * x + 0.5).clamp(0.0, 1.0),  # Keras's constants, which Core ML uses for LSTM gates
    "sigmoid_hard": lambda x: (0.2 * x + 0.5).clamp(0.0, 1.0),
    "scaled_tanh": lambda x: 1.7159 * torch.tanh(2.0 / 3.0 * x),  # LeCun's constants
}
STANDARD = {"recurrent_activation": "sigmoid", "cell_activation": "tanh", "activation": "tanh"}


@rule("lstm")
def lstm(
    *,
    x: Tensor,
    initial_h: Tensor,
    initial_c: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    direction: str = "forward",
    output_sequence: bool = False,
    recurrent_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    activation: str = "tanh",
    bias: Tensor | None = None,
    weight_ih_back: Tensor | None = None,
    weight_hh_back: Tensor | None = None,
    bias_back: Tensor | None = None,
    peephole: Tensor | None = None,
    peephole_back: Tensor | None = None,
    clip: float | None = None,
) -> tuple[Tensor, ...]:
    """Hidden states of every step (or the last), last hidden, last cell; gates lie in the order input, forget, output, cell."""
    names = (recurrent_activation, cell_activation, activation)
    if direction != "bidirectional":
        weights = (weight_ih, weight_hh, bias, peephole)
        return _lstm(x, initial_h, initial_c, weights, direction == "reverse", output_sequence, names, clip)
    assert weight_ih_back is not None
    assert weight_hh_back is not None
    (h, h_back), (c, c_back) = initial_h.chunk(2, -1), initial_c.chunk(2, -1)
    ahead = _lstm(x, h, c, (weight_ih, weight_hh, bias, peephole), False, output_sequence, names, clip)
    turned = (weight_ih_back, weight_hh_back, bias_back, peephole_back)
    back = _lstm(x, h_back, c_back, turned, True, output_sequence, names, clip)
    return tuple(torch.cat(pair, -1) for pair in zip(ahead, back, strict=True))


@specialised("lstm")
def torch_lstm(constants: Mapping[str, Any]) -> Function | None:
    """torch's LSTM for constant weights with torch's activations and no peepholes or clipping."""
    odd = any(constants.get(key, name) != name for key, name in STANDARD.items())
    if odd or {"peephole", "peephole_back", "clip"} & constants.keys() or not {"weight_ih", "weight_hh"} <= constants.keys():
        return None
    direction = constants.get("direction", "forward")
    both, reverse = direction == "bidirectional", direction == "reverse"
    weights = _torch_weights(constants, "") + (_torch_weights(constants, "_back") if both else [])
    every_step = any(flags(constants["output_sequence"])) if "output_sequence" in constants else False

    def layer(*, x: Tensor, initial_h: Tensor, initial_c: Tensor) -> tuple[Tensor, ...]:
        first = [torch.stack(value.chunk(1 + both, -1)).contiguous() for value in (initial_h, initial_c)]
        given = x.flip(0) if reverse else x
        states, hidden, cell = torch.lstm(given, first, weights, True, 1, 0.0, False, both, False)
        hidden, cell = (torch.cat(list(value.unbind(0)), -1) for value in (hidden, cell))
        if not every_step:
            return hidden.unsqueeze(0), hidden, cell
        return states.flip(0) if reverse else states, hidden, cell

    return layer


def _torch_weights(constants: Mapping[str, Any], ending: str) -> list[Tensor]:
    """Weights and biases with the gates in torch's order: input, forget, cell, output."""
    inner, outer = constants[f"weight_ih{ending}"], constants[f"weight_hh{ending}"]
    bias = constants.get(f"bias{ending}")
    bias = inner.new_zeros(len(inner)) if bias is None else bias
    ordered = []
    for value in (inner, outer, bias):
        entered, forgotten, shown, new = value.chunk(4)
        ordered.append(torch.cat([entered, forgotten, new, shown]))
    return [*ordered, torch.zeros_like(bias)]


@rule("gru")
def gru(
    *,
    x: Tensor,
    initial_h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    direction: str = "forward",
    output_sequence: bool = False,
    recurrent_activation: str = "sigmoid",
    activation: str = "tanh",
    bias: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Gates lie in the order reset, new, update; the one bias is that of the inputs, so reset scales W_ho h alone."""
    gate, candidate = ACTIVATIONS[recurrent_activation], ACTIVATIONS[activation]
    backwards = direction == "reverse"
    hidden, states = initial_h, []
    for step in x.flip(0) if backwards else x:
        reset, new, update = F.linear(step, weight_ih, bias).chunk(3, -1)
        old_reset, old_new, old_update = F.linear(hidden, weight_hh).chunk(3, -1)
        share = gate(update + old_update)
        hidden = (1 - share) * candidate(new + gate(reset + old_reset) * old_new) + share * hidden
        states.append(hidden)
    return _sequence(states, backwards, output_sequence), hidden


@rule("rnn")
def rnn(
    *,
    x: Tensor,
    initial_h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    direction: str = "forward",
    output_sequence: bool = False,
    activation: str = "tanh",
    bias: Tensor | None = None,
) -> tuple[Tensor, ...]:
    backwards = direction == "reverse"
    hidden, states = initial_h, []
    for step in F.linear(x.flip(0) if backwards else x, weight_ih, bias):
        hidden = ACTIVATIONS[activation](step + F.linear(hidden, weight_hh))
        states.append(hidden)
    return _sequence(states, backwards, output_sequence), hidden


def _lstm(
    x: Tensor,
    hidden: Tensor,
    cell: Tensor,
    weights: tuple[Tensor, Tensor, Tensor | None, Tensor | None],
    backwards: bool,
    every_step: bool,
    names: tuple[str, str, str],
    clip: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Peepholes (input, forget, output) let the gates see the cell: the output gate the new one, the others the old one."""
    gate, candidate, output = (ACTIVATIONS[name] for name in names)
    weight_ih, weight_hh, bias, peephole = weights
    to_input, to_forget, to_output = peephole.chunk(3) if peephole is not None else (torch.zeros(()),) * 3
    states = []
    for step in F.linear(x.flip(0) if backwards else x, weight_ih, bias):
        entered, forgotten, shown, new = (step + F.linear(hidden, weight_hh)).chunk(4, -1)
        kept = gate(forgotten + to_forget * cell) * cell
        cell = kept + gate(entered + to_input * cell) * candidate(new)
        cell = cell if clip is None else cell.clamp(-clip, clip)
        hidden = gate(shown + to_output * cell) * output(cell)
        states.append(hidden)
    return _sequence(states, backwards, every_step), hidden, cell


def _sequence(states: list[Tensor], backwards: bool, every_step: bool) -> Tensor:
    if not every_step:
        return states[-1].unsqueeze(0)
    return torch.stack(states[::-1] if backwards else states)
