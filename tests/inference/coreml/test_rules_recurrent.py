"""Recurrent layers against torch, and by their formulas where torch has none."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.inference.coreml.rules import RULES
from tests.inference.coreml.folding import close, every, noise


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("every_step", [False, True])
def test_gru_against_torch(reverse: bool, every_step: bool) -> None:
    torch.manual_seed(0)
    layer = nn.GRU(4, 3)
    with torch.no_grad():
        parts = dict(layer.named_parameters())
        parts["bias_hh_l0"][6:] = 0.0  # MIL has one bias: the candidate's recurrent one is not in it
        both = parts["bias_ih_l0"] + parts["bias_hh_l0"]
    x, start = noise(5, 2, 4), noise(1, 2, 3)
    wanted, last = layer(x.flip(0) if reverse else x, start)
    wanted = wanted.flip(0) if reverse else wanted
    inner, outer, bias = (
        torch.cat([part[:3], part[6:], part[3:6]]) for part in (parts["weight_ih_l0"], parts["weight_hh_l0"], both)
    )
    states, hidden = every(
        "gru", x=x, initial_h=start[0], weight_ih=inner, weight_hh=outer, bias=bias,
        direction="reverse" if reverse else "forward", output_sequence=every_step,
    )  # fmt: skip
    close(states.detach(), (wanted if every_step else last).detach())
    close(hidden.detach(), last[0].detach())


@pytest.mark.parametrize(("activation", "reverse"), itertools.product(["tanh", "relu"], [False, True]))
def test_rnn_against_torch(activation: str, reverse: bool) -> None:
    torch.manual_seed(0)
    layer = nn.RNN(4, 3, nonlinearity=activation)
    parts = {name: value.detach() for name, value in layer.named_parameters()}
    x, start = noise(5, 2, 4), noise(1, 2, 3)
    wanted, _ = layer(x.flip(0) if reverse else x, start)
    states, _ = every(
        "rnn", x=x, initial_h=start[0], weight_ih=parts["weight_ih_l0"], weight_hh=parts["weight_hh_l0"],
        bias=parts["bias_ih_l0"] + parts["bias_hh_l0"], direction="reverse" if reverse else "forward", output_sequence=True,
        activation=activation,
    )  # fmt: skip
    close(states, (wanted.flip(0) if reverse else wanted).detach())


def lstm_weights(layer: nn.LSTM, ending: str = "") -> dict[str, Tensor]:
    """torch's gates input, forget, cell, output in MIL's order input, forget, output, cell."""
    suffix = "_reverse" if ending else ""
    width = layer.hidden_size
    parts = {key: getattr(layer, f"{key}_l0{suffix}").detach() for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    parts["bias"] = parts.pop("bias_ih") + parts.pop("bias_hh")
    order = torch.cat([torch.arange(0, 2 * width), torch.arange(3 * width, 4 * width), torch.arange(2 * width, 3 * width)])
    return {f"{key}{ending}": value[order] for key, value in parts.items()}


@pytest.mark.parametrize("special", [False, True], ids=["stepwise", "torch"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("every_step", [False, True])
def test_lstm_against_torch(direction: str, every_step: bool, special: bool) -> None:
    torch.manual_seed(0)
    both = direction == "bidirectional"
    layer = nn.LSTM(4, 3, bidirectional=both)
    x, h, c = noise(5, 2, 4), noise(1 + both, 2, 3), noise(1 + both, 2, 3) * 2
    wanted, (last_h, last_c) = layer(x.flip(0) if direction == "reverse" else x, (h, c))
    wanted = wanted.flip(0) if direction == "reverse" else wanted
    weights = {**lstm_weights(layer), **(lstm_weights(layer, "_back") if both else {})}
    constants: dict[str, Any] = {**weights, "direction": direction, "output_sequence": torch.tensor(every_step)}
    starts = {"x": x, "initial_h": torch.cat(list(h), -1), "initial_c": torch.cat(list(c), -1)}
    with torch.no_grad():
        if special:
            specialise = RULES["lstm"].specialise
            assert specialise is not None
            function = specialise(constants)
            assert function is not None
            states, hidden, cell = function(**starts)
        else:
            states, hidden, cell = every("lstm", **starts, **constants)
    flat = torch.cat(list(last_h), -1).detach()
    close(hidden, flat)
    close(cell, torch.cat(list(last_c), -1).detach())
    close(states, wanted.detach() if every_step else flat[None])


def hard(value: Tensor) -> Tensor:
    return (0.2 * value + 0.5).clamp(0, 1)


def test_lstm_with_peepholes_clipping_and_other_activations_by_its_formulas() -> None:
    x, h, c, inner, outer, peep = noise(1, 1, 2), noise(1, 2), noise(1, 2) * 3, noise(8, 2), noise(8, 2), noise(6)
    _, hidden, cell = every(
        "lstm", x=x, initial_h=h, initial_c=c, weight_ih=inner, weight_hh=outer, peephole=peep, clip=0.7, output_sequence=False,
        recurrent_activation="hard_sigmoid", cell_activation="relu", activation="linear",
    )  # fmt: skip
    entered, forgotten, shown, new = (x[0] @ inner.T + h @ outer.T).chunk(4, -1)
    fresh = hard(forgotten + peep[2:4] * c) * c + hard(entered + peep[:2] * c) * F.relu(new)
    assert float(fresh.abs().max()) > 0.7
    fresh = fresh.clamp(-0.7, 0.7)
    close(cell, fresh)
    close(hidden, hard(shown + peep[4:] * fresh) * fresh)
    assert RULES["lstm"].specialise is not None
    assert RULES["lstm"].specialise({"peephole": peep, "weight_ih": inner, "weight_hh": outer}) is None
