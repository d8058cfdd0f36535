"""Rules on types and shapes: rank, float32, open dimensions, enumerated shapes, the last axis, size."""

from explorer.inference.coreml.program import Name
from explorer.inference.neural_engine.graph import Graph, dtype_of, elements, shape_of, size_bytes
from explorer.inference.neural_engine.sources import GUIDE, ISSUES, RULES, TRANSFORMERS, both, hint
from explorer.schemas.convert_result import Hint

MAX_RANK = 5
MAX_ENUMERATED = 128
ALIGNED_BYTES = 64
# The sources name no size: below these the padding and the caches do not matter.
WASTED_PORT_BYTES, WASTED_VALUE_BYTES = 64 * 2**10, 2**20
LARGE_BYTES = 16 * 2**20
OLDER_THAN_IOS18 = ("iOS15", "iOS16", "iOS17", "macOS12", "macOS13", "macOS14")
TYPED_AT_THE_EDGE = ("cast", "classify")


def rank(graph: Graph) -> Hint | None:
    """At most five dimensions."""
    found = [step for step in graph.steps if any(len(shape_of(item.variable) or ()) > MAX_RANK for item in step.results)]
    if not found:
        return None
    title = f"Values have more than {MAX_RANK} dimensions"
    return hint("rank", title, found, "merge dimensions: 4 suit it best, 5 are the most", both(RULES, GUIDE))


def float32_values(graph: Graph) -> Hint | None:
    """Float16 within; casts at the inputs and outputs are as they should be."""
    found = [
        step
        for step in graph.steps
        if step.op_type not in TYPED_AT_THE_EDGE and any(dtype_of(item.variable) == "fp32" for item in step.results)
    ]
    if not found:
        return None
    title = f"{len(found)} of {len(graph.steps)} operators compute in float32; the Neural Engine is said to do float16 only"
    return hint("float32", title, found, "convert in float16 and keep only what needs it in float32", both(GUIDE, RULES, ISSUES))


def open_dimensions(graph: Graph) -> Hint | None:
    """Fixed shapes, else enumerated ones."""
    ports = [port for port in graph.program.inputs.values() if None in port.shape and not port.shapes]
    many = [port for port in graph.program.inputs.values() if len(port.shapes) > MAX_ENUMERATED]
    moving = [step for step in graph.of_type("reshape") if "shape" in step.inputs and not graph.is_constant(step.inputs["shape"])]
    if not ports and not many and not (moving and not _enumerated(graph)):
        return None
    names = [port.name for port in [*ports, *many]]
    title = "Inputs have open dimensions" if names else "Reshapes depend on computed shapes"
    remedy = f"fix the shapes, or enumerate up to {MAX_ENUMERATED}; ranges need the reshape-frequency hint of iOS 17.4 at least"
    return hint("open dimensions", title, [*names, *moving], remedy, both(RULES, GUIDE))


def _enumerated(graph: Graph) -> bool:
    return any(port.shapes for port in graph.program.inputs.values())


def enumerated_inputs(graph: Graph) -> Hint | None:
    """Several inputs with enumerated shapes need iOS 18."""
    ports = [port.name for port in graph.program.inputs.values() if port.shapes]
    if len(ports) < 2 or graph.target not in OLDER_THAN_IOS18:
        return None
    title = f"Inputs have enumerated shapes, which works from iOS 18 only; this one is for {graph.target}"
    return hint("enumerated inputs", title, ports, "enumerate one input, or convert for iOS18", GUIDE)


def last_axis(graph: Graph) -> Hint | None:
    """The last axis fills whole 64-byte lines; at size 1 it costs 32 times the memory."""
    found: dict[str, float] = {item.name: _padding(item) for item in graph.program.body.inputs if _wastes_at_the_edge(item)}
    edge = set(graph.program.body.outputs)
    for step in graph.steps:
        for item in step.results:
            if _wastes(item.variable) or (item.variable in edge and _wastes_at_the_edge(item.variable)):
                found[f"{step.name} ({step.op_type})"] = _padding(item.variable)
    if not found:
        return None
    title = f"Values have a short last axis, padded to as much as {max(found.values()):.0f} times their size"
    remedy = "put a long axis last: a multiple of 32 float16 numbers, best a power of two, never 1"
    return hint("last axis", title, list(found), remedy, both(RULES, TRANSFORMERS))


def _padded_bytes(value: Name) -> int:
    """Bytes when each row of the last axis starts on a line of its own."""
    shape = shape_of(value) or ()
    if len(shape) < 2 or shape[-1] is None:
        return size_bytes(value)
    row = shape[-1] * size_bytes(value) // max(1, elements(value))
    return elements(value) // max(1, shape[-1]) * -(-row // ALIGNED_BYTES) * ALIGNED_BYTES


def _padding(value: Name) -> float:
    return _padded_bytes(value) / max(1, size_bytes(value))


def _wastes(value: Name) -> bool:
    return _padded_bytes(value) - size_bytes(value) >= WASTED_VALUE_BYTES and _padding(value) >= 4


def _wastes_at_the_edge(value: Name) -> bool:
    return _padded_bytes(value) - size_bytes(value) >= WASTED_PORT_BYTES and _padding(value) >= 2


def largest_value(graph: Graph) -> Hint | None:
    """Large intermediate values leave the cache."""
    sizes = [(max((size_bytes(item.variable) for item in step.results), default=0), step) for step in graph.steps]
    found = sorted((item for item in sizes if item[0] >= LARGE_BYTES), key=lambda item: -item[0])
    if not found:
        return None
    title = f"The largest value takes {found[0][0] / 2**20:.0f} MiB, more than the caches hold"
    remedy = "split it into chunks that are worked on one after another"
    return hint("large values", title, [step for _, step in found], remedy, both(TRANSFORMERS, RULES))
