"""Counts the operations of one call of an ONNX model: two for each multiplication with its addition.

Counted are convolutions, matrix products and recurrent layers, float or integer; what else a model does is no matter of
arithmetic. Shapes come from ONNX shape inference with the input's shape set. Formulas: ONNX operator specifications.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, inliner, shape_inference

Shape = tuple[int, ...]
ShapeOf = Callable[[str], Shape]

STANDARD_DOMAINS = ("", "ai.onnx")
# These compute as well, by rules that are not counted here.
UNCOUNTED = frozenset({"Attention", "DeformConv", "Einsum"})
COMPUTING_NAMES = ("Attention", "Conv", "Gemm", "MatMul", "GRU", "LSTM", "RNN", "MoE")


@dataclass(frozen=True)
class Count:
    """Operations of one call; None when they cannot be counted, and then why."""

    flops: int | None
    reason: str = ""


class UncountableError(Exception):
    """Why the operations of a model cannot be counted."""


def count(path: Path | str, input_shape: Sequence[int]) -> Count:
    """The operations of one call on an input of `input_shape`, batch included. Never raises for what a file holds.

    The first input gets that shape, and every other the sizes that its named dimensions share with it.
    """
    try:
        return Count(count_model(onnx.load(str(path), load_external_data=False), input_shape))
    except UncountableError as error:
        return Count(None, str(error))
    except Exception as error:
        return Count(None, f"shapes cannot be inferred: {_first_line(error)}")


def count_model(model: ModelProto, input_shape: Sequence[int]) -> int:
    """As `count` of a model in memory, which is left as it is. Raises `UncountableError` and errors of ONNX."""
    whole = inliner.inline_local_functions(model) if model.functions else onnx.ModelProto.FromString(model.SerializeToString())
    _set_shapes(whole.graph, input_shape)
    inferred = shape_inference.infer_shapes(whole, data_prop=True).graph
    shape_of = _shapes(inferred)
    return sum(2 * _multiplications(node, shape_of) for node in _computing(inferred))


def _set_shapes(graph: GraphProto, input_shape: Sequence[int]) -> None:
    """Set the inputs and forget every other shape, which may be one of another batch size."""
    weights = {item.name for item in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    if not inputs or len(inputs[0].type.tensor_type.shape.dim) != len(input_shape):
        raise UncountableError(f"the model does not take an input of {len(input_shape)} dimensions")
    first = inputs[0].type.tensor_type.shape.dim
    sizes = {dim.dim_param: size for dim, size in zip(first, input_shape, strict=True) if dim.dim_param}
    for dim, size in zip(first, input_shape, strict=True):
        dim.dim_value = size
    for value in inputs[1:]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
    del graph.value_info[:]
    for output in graph.output:
        output.ClearField("type")


def _shapes(graph: GraphProto) -> ShapeOf:
    """Known shapes by name of the value; asking for another raises `UncountableError`."""
    known: dict[str, Shape] = {item.name: tuple(item.dims) for item in graph.initializer}
    for value in (*graph.input, *graph.value_info, *graph.output):
        shape = _shape(value)
        if shape is not None:
            known.setdefault(value.name, shape)

    def shape_of(name: str) -> Shape:
        if name not in known:
            raise UncountableError(f"the shape of {name} cannot be inferred")
        return known[name]

    return shape_of


def _shape(value: ValueInfoProto) -> Shape | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        return None
    return tuple(int(dim.dim_value) for dim in tensor.shape.dim)


def _computing(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes to count. Raises where nodes of a branch or a loop, or operators without a rule, compute as well."""
    for node in graph.node:
        if any(_computes(inner) for inner in _inner_nodes(node)):
            raise UncountableError(f"{node.op_type} computes in a branch or a loop, whose runs are not known")
        if node.op_type in RULES and node.domain in STANDARD_DOMAINS:
            yield node
        elif _computes(node):
            raise UncountableError(f"there is no rule for operator {'.'.join(filter(None, (node.domain, node.op_type)))}")


def _computes(node: NodeProto) -> bool:
    if node.domain in STANDARD_DOMAINS:
        return node.op_type in RULES or node.op_type in UNCOUNTED
    return any(name in node.op_type for name in COMPUTING_NAMES)


def _inner_nodes(node: NodeProto) -> Iterator[NodeProto]:
    """The nodes of every subgraph, however deep."""
    for attribute in node.attribute:
        graphs: Iterable[GraphProto] = [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs
        for graph in graphs:
            for inner in graph.node:
                yield inner
                yield from _inner_nodes(inner)


def _multiplications(node: NodeProto, shape_of: ShapeOf) -> int:
    return RULES[node.op_type](node, shape_of)


def _conv(weight: int) -> Callable[[NodeProto, ShapeOf], int]:
    """Each output value takes a kernel over the channels of its group; the weight is (M, C / groups, kernel...)."""
    return lambda node, shape_of: math.prod(shape_of(node.output[0])) * math.prod(shape_of(node.input[weight])[1:])


def _conv_transpose(node: NodeProto, shape_of: ShapeOf) -> int:
    """Each input value gives a kernel over the output channels of its group; the weight is (C, M / groups, kernel...)."""
    return math.prod(shape_of(node.input[0])) * math.prod(shape_of(node.input[1])[1:])


def _gemm(node: NodeProto, shape_of: ShapeOf) -> int:
    transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return math.prod(shape_of(node.output[0])) * shape_of(node.input[0])[0 if transposed else 1]


def _matmul(node: NodeProto, shape_of: ShapeOf) -> int:
    """Each output value is a dot product as long as the left factor's last dimension."""
    return math.prod(shape_of(node.output[0])) * shape_of(node.input[0])[-1]


def _recurrent(node: NodeProto, shape_of: ShapeOf) -> int:
    """Each step multiplies W (directions, gates x hidden, inputs) and R (directions, gates x hidden, hidden)."""
    steps_and_batch = math.prod(shape_of(node.input[0])[:2])
    return steps_and_batch * (math.prod(shape_of(node.input[1])) + math.prod(shape_of(node.input[2])))


RULES: Mapping[str, Callable[[NodeProto, ShapeOf], int]] = {
    "Conv": _conv(1),
    "ConvInteger": _conv(1),
    "QLinearConv": _conv(3),
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
}


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
