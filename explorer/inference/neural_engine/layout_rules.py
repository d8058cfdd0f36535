"""Rules on layout and attention: channels first, 1x1 convolutions, few reshapes and transposes, attention per head."""

from collections.abc import Sequence

from explorer.inference.coreml.program import Step
from explorer.inference.neural_engine.graph import Graph, elements, input_shape, output_shape
from explorer.inference.neural_engine.sources import RULES, TRANSFORMERS, both, hint
from explorer.schemas.convert_result import Hint

LAYOUT = ("reshape", "transpose", "expand_dims", "squeeze", "reshape_like", "flatten2d")
POINTWISE = ("relu", "gelu", "silu", "sigmoid", "tanh", "cast", "clip", "identity", "leaky_relu", "exp", "sqrt", "rsqrt")
MANY_LAYOUT, LAYOUT_SHARE, FEW_LINEARS = 8, 0.3, 4
APPLE = both(RULES, TRANSFORMERS)


def channels_first(graph: Graph) -> Hint | None:
    """A transformer as (batch, channels, 1, sequence)."""
    attends = bool(graph.of_type("scaled_dot_product_attention") or _batched(graph))
    found = [step for step in _linears(graph) if len(input_shape(step)) == 3]
    if not attends or len(found) < FEW_LINEARS:
        return None
    title = "Projections work on (batch, sequence, channels)"
    return hint("channels first", title, found, "keep values as (batch, channels, 1, sequence) throughout", APPLE)


def linear_as_convolution(graph: Graph) -> Hint | None:
    """A 1x1 convolution rather than a linear layer, over more than one position."""
    found = [step for step in _linears(graph) if len(input_shape(step)) >= 3]
    if len(found) < FEW_LINEARS:
        return None
    title = "Linear layers with fixed weights could be 1x1 convolutions"
    return hint("linear layers", title, found, "write them as Conv2d with kernel 1 over (batch, channels, 1, sequence)", APPLE)


def _linears(graph: Graph) -> list[Step]:
    """Products with stored weights."""
    matmuls = [step for step in graph.of_type("matmul") if "y" in step.inputs and graph.is_constant(step.inputs["y"])]
    return graph.of_type("linear") + matmuls


def _batched(graph: Graph) -> list[Step]:
    """Products of two computed values with more than two dimensions."""
    return [
        step
        for step in graph.of_type("matmul")
        if len(input_shape(step)) >= 3 and not any(graph.is_constant(step.inputs[key]) for key in ("x", "y"))
    ]


def attention(graph: Graph) -> Hint | None:
    """Attention head by head; the fused operator and batched products are not made for it."""
    fused, products = graph.of_type("scaled_dot_product_attention"), _batched(graph)
    if not fused and not products:
        return None
    title = "Attention is one fused operator" if fused else "Products of computed values work on all heads at once"
    remedy = "compute each head on its own: einsum bchq,bkhc->bkhq, softmax over k, einsum bkhq,bchk->bchq"
    return hint("attention", title, [*fused, *products], remedy, APPLE)


def layout_share(graph: Graph) -> Hint | None:
    """Reshapes and transposes copy; those of the last axis most."""
    found = graph.of_type(*LAYOUT)
    if len(found) < MANY_LAYOUT or len(found) < LAYOUT_SHARE * len(graph.steps):
        return None
    found.sort(key=lambda step: not _moves_last_axis(graph, step))
    moving = sum(1 for step in found if _moves_last_axis(graph, step))
    title = f"{len(found)} of {len(graph.steps)} operators only change the layout, {moving} of them the last axis"
    return hint("layout", title, found, "choose one layout for the whole network, its last axis untouched", APPLE)


def _moves_last_axis(graph: Graph, step: Step) -> bool:
    before, after = input_shape(step), output_shape(step)
    order = graph.constant(step, "perm") if step.op_type == "transpose" else None
    if order is not None and before:
        return bool(order[-1] % len(before) != len(before) - 1)
    return before[-1:] != after[-1:]


def transpose_pairs(graph: Graph) -> Hint | None:
    """A transpose undone by the next one, with at most operators on single numbers between."""
    found = [step for step in graph.of_type("transpose") if any(_undoes(graph, step, end) for end in _ends(graph, step))]
    if not found:
        return None
    title = "Transposes are undone by a later one"
    return hint("transpose pairs", title, found, "leave both out: what lies between works in any layout", APPLE)


def _ends(graph: Graph, start: Step) -> Sequence[Step]:
    """The transposes that are reached through operators on single numbers."""
    ends, todo = [], graph.next_steps(start)
    while todo:
        step = todo.pop()
        if step.op_type == "transpose":
            ends.append(step)
        elif step.op_type in POINTWISE:
            todo += graph.next_steps(step)
    return ends


def _undoes(graph: Graph, first: Step, second: Step) -> bool:
    one, two = graph.constant(first, "perm"), graph.constant(second, "perm")
    if one is None or two is None or len(one) != len(two):
        return False
    rank = len(one)
    return [one[axis % rank] % rank for axis in two] == list(range(rank))


def softmax_axis(graph: Graph) -> Hint | None:
    """Softmax over channels when the value is large."""
    found = [step for step in graph.of_type("softmax") if _on_last_axis(graph, step) and _large(step)]
    if not found:
        return None
    title = "Softmax operators on large values work along the last axis"
    return hint("softmax axis", title, found, "put the axis of the softmax second, as channels", RULES)


def _on_last_axis(graph: Graph, step: Step) -> bool:
    rank, axis = len(input_shape(step)), graph.constant(step, "axis")
    return rank >= 3 and axis is not None and axis % rank == rank - 1


def _large(step: Step) -> bool:
    return elements(step.results[0].variable) >= 2**18
