"""The loop that coremltools writes for torch's GRU, found in a program by its exact form and run as one layer.

A loop costs dozens of operators a step. Where no value inside is to be rounded or recorded, torch's layer gives the same sums.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from explorer.inference.coreml.program import Block, Name, Step
from explorer.inference.coreml.registry import Value

INPUT, HIDDEN = "squeeze(gather(outer,i,0),0)", "squeeze(gather(s,i,0),0)"
# Gates and linear operators bear the number of their first appearance, so that a form names each value and not just its kind.
UPDATE = f"sigmoid1(add(linear1({INPUT}),linear2({HIDDEN})))"
RESET = f"sigmoid2(add(linear4({INPUT}),linear5({HIDDEN})))"
NEW = f"tanh(add(linear3({INPUT}),mul({RESET},linear6({HIDDEN}))))"
NEXT = f"add(mul(sub(1,{UPDATE}),{NEW}),mul({UPDATE},{HIDDEN}))"
FORM = f"scatter(s,add(i,1),expand_dims({NEXT},0),0,add)"
ORDER = ("x", "y", "data", "indices", "updates", "axis", "axes", "mode", "cond", "a", "b", "weight")
Layer = Callable[[Tensor, Tensor], Tensor]


def gru_loop(step: Step, constants: Mapping[Name, Value]) -> tuple[Name, int, Layer] | None:
    """The sequence that the loop walks over, its steps, and the layer from (sequence, states) to states; None for other loops.

    States are (steps + 1, batch, hidden): the first in row 0, zeros below, filled by the loop.
    """
    condition, body = step.blocks
    first = step.inputs["loop_vars"]
    if len(body.inputs) != 2 or not isinstance(first, tuple) or not _is_number(constants.get(first[0]), 0):
        return None
    limit = _limit(condition, constants)
    words = _Words(body, constants)
    if limit is None or words.of(body.outputs[0]) != "add(i,1)" or words.of(body.outputs[1]) != FORM:
        return None
    if len(words.outer) != 1:
        return None
    update, update_h, new, reset, reset_h, new_h = words.weights
    inner, outer = [reset, update, new], [reset_h, update_h, new_h]
    flat = [torch.cat([pair[at] for pair in side]) for at in (0, 1) for side in (inner, outer)]
    return next(iter(words.outer)), limit, _layer(flat)


def _layer(weights: list[Tensor]) -> Layer:
    def run(sequence: Tensor, states: Tensor) -> Tensor:
        made, _ = torch.gru(sequence, states[:1].contiguous(), weights, True, 1, 0.0, False, False, False)
        return torch.cat([states[:1], made])

    return run


def _limit(condition: Block, constants: Mapping[Name, Value]) -> int | None:
    """n in a condition i < n."""
    if len(condition.steps) != 1 or condition.steps[0].op_type != "less":
        return None
    step = condition.steps[0]
    end = constants.get(step.inputs["y"])
    return int(end) if step.inputs["x"] == condition.inputs[0] and isinstance(end, Tensor) and end.numel() == 1 else None


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, Tensor) and value.numel() == 1 and float(value) == number


class _Words:
    """Values of a loop's body as text; weights of linear operators are collected as they are met."""

    def __init__(self, body: Block, constants: Mapping[Name, Value]) -> None:
        self.constants = constants
        self.made = {result.variable: step for step in body.steps for result in step.results}
        self.known: dict[Name, str] = dict(zip(body.inputs, ("i", "s"), strict=True))
        self.weights: list[tuple[Tensor, Tensor]] = []
        self.outer: set[Name] = set()
        self.gates = 0

    def of(self, name: Name) -> str:
        if name not in self.known:
            self.known[name] = self._expression(self.made[name]) if name in self.made else self._leaf(name)
        return self.known[name]

    def _leaf(self, name: Name) -> str:
        value = self.constants.get(name)
        if value is None:
            self.outer.add(name)
            return "outer"
        if isinstance(value, Tensor) and value.numel() == 1:
            return f"{float(value):g}"
        return value if isinstance(value, str) else "constant"

    def _expression(self, step: Step) -> str:
        given = step.inputs
        if step.op_type == "select" and self._is_index(step):
            return "i"
        if step.op_type == "linear":
            return self._linear(step)
        number = ""
        if step.op_type == "sigmoid":
            self.gates += 1
            number = str(self.gates)
        parts = [self.of(given[key]) for key in ORDER if key in given and not isinstance(given[key], tuple)]
        return f"{step.op_type}{number}({','.join(parts)})"

    def _is_index(self, step: Step) -> bool:
        """select(i >= 0, i, i + n): the index itself, as it counts up from 0."""
        return self.of(step.inputs["cond"]) == "greater_equal(i,0)" and self.of(step.inputs["a"]) == "i"

    def _linear(self, step: Step) -> str:
        weight, bias = (self.constants.get(step.inputs.get(key)) for key in ("weight", "bias"))
        if not isinstance(weight, Tensor):
            return "linear of a changing weight"
        self.weights.append((weight, bias if isinstance(bias, Tensor) else weight.new_zeros(len(weight))))
        return f"linear{len(self.weights)}({self.of(step.inputs['x'])})"
