"""What a captured graph tells: each check is a small function over its nodes."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx

from explorer.conversion.ports import Traced
from explorer.conversion.preflight_modules import LARGEST_HALF, LARGEST_INT32
from explorer.conversion.tape import own_path
from explorer.conversion.user_lines import user_line
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

MOST_DIMENSIONS = 5
# coremltools folds these away where they stand in a row, however many dimensions are between.
MOVING = frozenset(
    {"view", "reshape", "permute", "transpose", "clone", "contiguous", "_unsafe_view", "flatten", "unflatten", "expand"}
)
# Their integers are positions, with 2**63 - 1 for "to the end".
POSITIONS = frozenset({"slice", "narrow", "select", "arange", "_assert_scalar", "slice_scatter", "split", "split_with_sizes"})
RANDOM = frozenset(
    {"rand", "randn", "rand_like", "randn_like", "randint", "bernoulli", "multinomial", "normal", "normal_functional"}
)
DROPOUTS = frozenset({"dropout", "alpha_dropout", "feature_dropout", "native_dropout"})
WRONG_IN_COREML = {
    "_upsample_bilinear2d_aa": "coremltools leaves the antialiasing out",
    "_upsample_bicubic2d_aa": "coremltools leaves the antialiasing out",
}


@dataclass(frozen=True)
class Graph:
    """An exported program with what was asked for."""

    program: torch.export.ExportedProgram
    traced: Traced
    spec: ConvertSpec

    def calls(self) -> Iterator[tuple[fx.Node, str]]:
        """Every call of an operator with its name, such as "index_put_"."""
        for node in self.program.graph.nodes:
            if isinstance(node.target, torch._ops.OpOverload):
                yield node, node.target.overloadpacket.__name__

    def place(self, node: fx.Node) -> str:
        """Module path and source line of a node."""
        return place_of(node, self.traced)


def place_of(node: fx.Node, traced: Traced) -> str:
    """Such as "net.cell, model.py:12"."""
    paths = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    known = {path for path, _ in traced.original.named_modules()}
    module = own_path(paths[-1], known) if paths else ""
    return ", ".join(part for part in (module, user_line(node.meta.get("stack_trace") or "")) if part)


def random_numbers(graph: Graph) -> Iterator[Finding]:
    """Dropout that stays on, and random numbers: two runs of the source differ, so nothing can be proven."""
    for node, name in graph.calls():
        if name in DROPOUTS and len(node.args) > 2 and node.args[2] is True and node.args[1] != 0.0:
            yield Finding(
                severity="error",
                title="dropout stays on in evaluation mode",
                evidence=graph.place(node),
                remedy="pass training=self.training to it",
            )
        elif name in RANDOM:
            yield Finding(
                severity="warning",
                title=f"random numbers ({name}) are made in forward, which no check can follow",
                evidence=graph.place(node),
                remedy="make them outside and pass them in",
            )


def wide_integer_constants(graph: Graph) -> Iterator[Finding]:
    """Numbers that Core ML's 32-bit integers cannot hold."""
    if graph.spec.target != "coreml":
        return
    for node, name in graph.calls():
        if name in POSITIONS or not any(_dtype(item) == torch.int64 for item in (node, *node.all_input_nodes)):
            continue
        if _dtype(node) not in (torch.int64, torch.bool):
            continue
        for number in _numbers(node):
            if isinstance(number, int) and abs(number) > LARGEST_INT32:
                yield _too_wide(f"{name} is given {number}", graph.place(node))
    yield from _wide_tensors(graph)


def _wide_tensors(graph: Graph) -> Iterator[Finding]:
    lifted = graph.program.graph_signature.inputs_to_lifted_tensor_constants
    for node in graph.program.graph.nodes:
        value = graph.program.constants.get(lifted.get(node.name, ""))
        if isinstance(value, Tensor) and value.dtype == torch.int64 and value.numel() and int(value.abs().max()) > LARGEST_INT32:
            places = [graph.place(user) for user in node.users]
            yield _too_wide(f"a constant holds {int(value.abs().max())}", places[0] if places else node.name)


def _too_wide(what: str, place: str) -> Finding:
    return Finding(
        severity="error",
        title=f"{what}, beyond the 32-bit integers of Core ML",
        evidence=place,
        remedy="use smaller integers or float32",
    )


def high_rank(graph: Graph) -> Iterator[Finding]:
    """Values of over five dimensions that are computed with, not only moved."""
    if graph.spec.target != "coreml":
        return
    for node, name in graph.calls():
        rank = max((_rank(item) for item in (node, *node.all_input_nodes)), default=0)
        if rank > MOST_DIMENSIONS and name not in MOVING:
            yield Finding(
                severity="error",
                title=f"{name} computes with {rank} dimensions, Core ML takes at most {MOST_DIMENSIONS}",
                evidence=graph.place(node),
                remedy="merge dimensions before that operation",
            )
            return


def half_overflow(graph: Graph) -> Iterator[Finding]:
    """Finite numbers, masks most often, that float16 turns infinite."""
    if graph.spec.target != "coreml" or graph.spec.precision != "float16":
        return
    for node, name in graph.calls():
        if not _is_float(node) and not any(_is_float(item) for item in node.all_input_nodes):
            continue
        for number in _numbers(node):
            if math.isfinite(number) and abs(number) > LARGEST_HALF and name not in POSITIONS:
                yield Finding(
                    severity="warning",
                    title=f"{name} is given {number:.3g}, float16 ends at 65504",
                    evidence=graph.place(node),
                    remedy="use -1e4 in a mask, scale it, or keep that operator in float32",
                )


def known_wrong(graph: Graph) -> Iterator[Finding]:
    """Operators that the converter takes and gets wrong."""
    if graph.spec.target != "coreml":
        return
    for node, name in graph.calls():
        if name in WRONG_IN_COREML:
            yield Finding(
                severity="error",
                title=f"{WRONG_IN_COREML[name]} ({name.strip('_')})",
                evidence=graph.place(node),
                remedy="resize without antialias, or let the rewrites replace it",
            )
        elif name == "index_put_":
            yield Finding(
                severity="warning",
                title="tracing drops an assignment by index",
                evidence=graph.place(node),
                remedy="use torch.where, scatter or index_copy; a graph from torch.export keeps it",
            )


def baked_shapes(graph: Graph) -> Iterator[Finding]:
    """Dimensions that were asked to be open and that the model fixes."""
    given = [node for node in graph.program.graph.nodes if node.name in graph.program.graph_signature.user_inputs]
    for node, port in zip(given, graph.traced.inputs, strict=False):
        for axis, options in enumerate(zip(*port.shapes, strict=True)):
            is_open = len(set(options)) > 1 or isinstance(options[0], tuple)
            size = node.meta["val"].shape[axis]
            fixed = size if isinstance(size, int) else size.node.maybe_as_int()
            if is_open and fixed is not None:
                yield Finding(
                    severity="warning",
                    title=f"dimension {axis} of {port.name} will be baked: the model fixes it at {fixed}",
                    evidence=port.words(),
                    remedy="take sizes from x.shape instead of constants or int(...), or ask for a fixed shape",
                )


def _numbers(node: fx.Node) -> list[int | float]:
    values = [*node.args, *node.kwargs.values()]
    return [item for item in values if isinstance(item, int | float) and not isinstance(item, bool)]


def _dtype(node: fx.Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, Tensor) else None


def _is_float(node: fx.Node) -> bool:
    dtype = _dtype(node)
    return dtype is not None and dtype.is_floating_point


def _rank(node: fx.Node) -> int:
    value: Any = node.meta.get("val")
    return value.ndim if isinstance(value, Tensor) else 0


GRAPH_CHECKS: tuple[Callable[[Graph], Iterator[Finding]], ...] = (
    known_wrong, random_numbers, wide_integer_constants, high_rank, half_overflow, baked_shapes,
)  # fmt: skip
