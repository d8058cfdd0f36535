"""Rules on numbers: infinities in masks, ranges of activations, and operators that lose precision or leave float16."""

import math

import torch
from torch import Tensor

from explorer.inference.coreml.program import Name, Step
from explorer.inference.neural_engine.graph import Graph, listed
from explorer.inference.neural_engine.sources import HOLLANCE, ISSUES, RULES, TRANSFORMERS, both, hint
from explorer.schemas.convert_result import Hint

FLOAT16_MAX = 65504.0
LARGE_ACTIVATION, SMALL_ACTIVATION = 1e2, 1e-4
BOUNDS = ("clip",)  # an open end of a range is no value that is computed with
SQUARES, ROOTS, MEANS = ("square", "mul", "pow"), ("sqrt", "rsqrt", "pow"), ("reduce_mean", "reduce_sum_square")


def mask_constants(graph: Graph) -> Hint | None:
    """No infinities and nothing beyond float16 in masks."""
    beyond = {name for name, value in graph.program.constants.items() if isinstance(value, Tensor) and _beyond(value)}
    found = [step for step in graph.steps if step.op_type not in BOUNDS and beyond & _taken(step)]
    if not found:
        return None
    title = "Operators take constants that are infinite in float16"
    remedy = "use -1e4 for masks (Apple's transformers), -4e4 at the most (neural_engine_rules.md)"
    return hint("mask constants", title, found, remedy, both(RULES, ISSUES, TRANSFORMERS))


def _beyond(value: Tensor) -> bool:
    if not value.is_floating_point() or not value.numel():
        return False
    low, high = torch.aminmax(value)
    return not (math.isfinite(low) and math.isfinite(high)) or float(low) <= -FLOAT16_MAX or float(high) > FLOAT16_MAX


def _taken(step: Step) -> set[Name]:
    return {variable for value in step.inputs.values() for variable in listed(value)}


def activation_ranges(graph: Graph) -> Hint | None:
    """Float16 has three digits: far from 1 they get scarce. Needs the ranges of an evaluation."""
    peaks = {f"{item.op} ({item.op_type})": max(abs(item.minimum), abs(item.maximum)) for item in graph.ranges}
    found = {name: peak for name, peak in peaks.items() if peak > LARGE_ACTIVATION or 0 < peak < SMALL_ACTIVATION}
    if not found:
        return None
    furthest = max(found.values(), key=lambda peak: abs(math.log(peak)))
    title = f"Values lie beyond {LARGE_ACTIVATION:g} or below {SMALL_ACTIVATION:g}, the furthest at {furthest:.2g}"
    order = sorted(found, key=lambda name: -abs(math.log(found[name])))
    return hint("activation ranges", title, order, "scale activations towards 1, or normalise before", HOLLANCE)


def decomposed_norms(graph: Graph) -> Hint | None:
    """A norm as one operator rather than as mean, square, root and quotient."""
    found = [step for step in graph.of_type(*ROOTS) if _of_mean_square(graph, step)]
    if not found:
        return None
    title = "Normalisations are spelled out as mean, square, root and quotient"
    remedy = "use a layer that converts to one operator: LayerNorm, BatchNorm or InstanceNorm"
    return hint("decomposed norms", title, found, remedy, RULES)


def _of_mean_square(graph: Graph, root: Step) -> bool:
    """sqrt(mean(square) + epsilon), with or without the sum."""
    before = graph.source(root)
    if before is not None and before.op_type == "add":
        before = graph.source(before) or graph.source(before, "y")
    if before is None or before.op_type not in MEANS:
        return False
    if before.op_type == "reduce_sum_square":
        return True
    square = graph.source(before)
    return square is not None and square.op_type in SQUARES and _squares(graph, square)


def _squares(graph: Graph, step: Step) -> bool:
    if step.op_type == "mul":
        return bool(step.inputs["x"] is step.inputs["y"])
    return step.op_type == "square" or graph.constant(step, "y") == 2.0


def activation_functions(graph: Graph) -> Hint | None:
    """silu and tanh, for Core AI's converter."""
    found = graph.of_type("silu", "tanh")
    if not found:
        return None
    title = "Silu or tanh operators may be computed in float32 by Core AI"
    remedy = "for Core AI write silu as x*sigmoid(x) and tanh as 2*sigmoid(2x)-1; Core ML takes them as they are"
    return hint("silu and tanh", title, found, remedy, ISSUES)
