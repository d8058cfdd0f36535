"""Rules on what leaves the Neural Engine, and how often work changes the device."""

from itertools import pairwise

from explorer.inference.coreml.program import Step
from explorer.inference.neural_engine.graph import Graph, dtype_of, elements, input_shape, output_shape, shape_of, size_bytes
from explorer.inference.neural_engine.sources import HOLLANCE, ORION, RULES, Source, both, hint
from explorer.schemas.convert_result import Hint

RECURRENT = ("lstm", "gru", "rnn", "while_loop")
GATHERING = ("gather", "gather_nd", "gather_along_axis", "topk", "argsort", "non_zero")
CUSTOM = ("custom_layer",)
LEAVING = (*RECURRENT, *GATHERING, *CUSTOM, "resample")
INDEX_NUMBERS = 8  # a gather on a shape or an index is work for the processor anyway
MANY_SWITCHES = 3
ORION_BYTES = 49_152
RF_DETR = Source("rf-detr pull request 1495", "read 2026-11-30")
RESAMPLE = Source("apple/coremltools issue 1875", "read 2026-11-30")


def custom_layers(graph: Graph) -> Hint | None:
    """Custom layers run on CPU and GPU."""
    found = [step for step in graph.steps if step.op_type in CUSTOM or step.op_type.startswith("custom")]
    if not found:
        return None
    title = "Custom layers are said to run on CPU or GPU only"
    return hint("custom layers", title, found, "write them with the operators of ML Programs", HOLLANCE)


def recurrent(graph: Graph) -> Hint | None:
    """Recurrent layers and loops."""
    found = graph.of_type(*RECURRENT)
    if not found:
        return None
    title = "Recurrent layers and loops are said to leave the Neural Engine"
    remedy = "use convolutions or attention over time, or keep them in a model of their own"
    return hint("recurrent layers", title, found, remedy, HOLLANCE)


def gathers(graph: Graph) -> Hint | None:
    """Gathering and sorting, and what takes their results."""
    found = [step for step in graph.of_type(*GATHERING) if not _on_index(graph, step)]
    if not found:
        return None
    title = "Gathering or sorting operators and what takes their results may leave the Neural Engine"
    remedy = "look embeddings up outside the model; move topk and what follows to the end"
    return hint("gather and topk", title, found, remedy, both(HOLLANCE, RULES, RF_DETR))


def _on_index(graph: Graph, step: Step) -> bool:
    """Shape arithmetic: a handful of whole numbers."""
    before = graph.source(step)
    few = all(item.kind == "int" and elements(item.variable) <= INDEX_NUMBERS for item in step.results)
    return (before is not None and before.op_type == "shape") or (few and len(output_shape(step)) <= 1)


def resample(graph: Graph) -> Hint | None:
    """grid_sample."""
    found = graph.of_type("resample")
    if not found:
        return None
    title = "resample operators (grid_sample) are said to run on the CPU"
    return hint("resample", title, found, "sample outside the model, or by convolutions", RESAMPLE)


def device_switches(graph: Graph) -> Hint | None:
    """Each change of device costs; the leaving operators belong at one end."""
    work = [step for step in graph.steps if step.op_type != "cast"]
    changes = [second for first, second in pairwise(work) if _leaves(graph, first) != _leaves(graph, second)]
    if len(changes) < MANY_SWITCHES:
        return None
    title = f"Work would change the device {len(changes)} times if every operator named in these hints left the Neural Engine"
    return hint("device switches", title, changes, "gather such operators at the beginning or the end", HOLLANCE)


def _leaves(graph: Graph, step: Step) -> bool:
    if step.op_type in LEAVING:
        return step.op_type not in GATHERING or not _on_index(graph, step)
    return any(len(shape_of(item.variable) or ()) > 5 or dtype_of(item.variable) == "fp32" for item in step.results)


def channel_broadcast(graph: Graph) -> Hint | None:
    """A map times one number per channel, said of the older NeuralNetwork format."""
    found = [step for step in graph.of_type("add", "mul", "sub", "real_div") if _per_channel(graph, step)]
    if not found:
        return None
    title = "Operators stretch one number per channel over a map, which older systems did elsewhere"
    return hint("channel broadcast", title, found, "fold constant factors into a convolution; else leave it", HOLLANCE)


def _per_channel(graph: Graph, step: Step) -> bool:
    one, two = input_shape(step, "x"), input_shape(step, "y")
    if any(graph.is_constant(step.inputs[key]) for key in ("x", "y")) or len(one) != 4 or len(two) != 4:
        return False
    small, large = sorted((one, two), key=lambda shape: (shape[2] or 1) * (shape[3] or 1))
    return small[2:] == (1, 1) and large[2:] != (1, 1) and small[1] == large[1] and (small[1] or 1) > 1


def port_sizes(graph: Graph) -> Hint | None:
    """Inputs and outputs of equal, not too small size: seen through a private interface only."""
    body = graph.program.body
    uneven = [values for values in (body.inputs, body.outputs) if len({size_bytes(value) for value in values}) > 1]
    if not uneven:
        return None
    names = [value.name for values in uneven for value in values]
    title = f"Inputs or outputs differ in size; a private interface wants equal ones from {ORION_BYTES:,} bytes"
    remedy = "measure before you change anything: Core ML itself asks for nothing of the kind"
    return hint("port sizes", title, names, remedy, ORION)
