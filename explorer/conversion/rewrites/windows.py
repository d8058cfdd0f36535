"""Windows of signal processing as constants: coremltools reads their arguments wrongly (coremltools#2212)."""

from typing import Any

import torch

from explorer.conversion.rewrites.rule import Constants, Function, Rule


def _constant(function: Function) -> Function:
    def replace(constants: Constants, length: Any, *rest: Any, **named: Any) -> Any:
        shown = [str(item) for item in (length, *rest, *sorted(named.items()))]
        key = "".join(letter if letter.isalnum() else "_" for letter in "_".join([function.__name__, *shown]))
        window = constants.get(key, lambda: function(length, *rest, **named))
        return NotImplemented if window is None else window

    return replace


WINDOWS: tuple[Function, ...] = (
    torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window,
)  # fmt: skip
RULES = tuple(Rule((window,), "a window as a constant (coremltools#2212)", _constant(window)) for window in WINDOWS)
