"""Rules on stored weights (file size, blocks, four bits, sparsity), on eight-bit activations and on kept state."""

from explorer.inference.coreml.program import Step
from explorer.inference.neural_engine.graph import Graph, dtype_of, elements, shape_of
from explorer.inference.neural_engine.sources import GUIDE, RULES, hint
from explorer.schemas.convert_result import Hint

LARGEST_FILE_BYTES = 10**9
USEFUL_SPARSITY = 0.75
SCALED = ("constexpr_blockwise_shift_scale", "constexpr_sparse_blockwise_shift_scale")


def file_size(graph: Graph) -> Hint | None:
    """At most 1 GB of weights on an iPhone."""
    files = [path for path in graph.program.path.rglob("*.bin") if path.is_file()]
    total = sum(path.stat().st_size for path in files)
    if total <= LARGEST_FILE_BYTES:
        return None
    title = f"The weights take {total / 1e9:.2f} GB; an iPhone's Neural Engine takes 1 GB"
    remedy = "compress the weights, or split with coremltools' bisect_model"
    return hint("file size", title, [path.name for path in files], remedy, GUIDE)


def blocks_of_four_bits(graph: Graph) -> Hint | None:
    """Blocks suit the GPU; palettes and scales per channel suit the Neural Engine."""
    found = [step for step in graph.weights if step.op_type in SCALED and _in_blocks(step)]
    if not found:
        return None
    title = "Weights have a scale for each block, which is meant for the GPU"
    remedy = "palettize instead (1 to 8 bits), or use int8 with a scale for each channel"
    return hint("weights in blocks", title, found, remedy, GUIDE)


def _in_blocks(step: Step) -> bool:
    """Several scales along more than the axis of channels."""
    scale = shape_of(step.inputs.get("scale")) or ()
    return sum(1 for size in scale if (size or 1) > 1) > 1


def four_bit_integers(graph: Graph) -> Hint | None:
    """int4 per channel or tensor, where a palette of 16 values does better."""
    found = [step for step in graph.weights if step.op_type in SCALED and _four_bits(step) and not _in_blocks(step)]
    if not found:
        return None
    title = "Weights are 4-bit integers; a palette of 16 values suits the Neural Engine better"
    return hint("4-bit integers", title, found, "palettize to 4 bits", GUIDE)


def _four_bits(step: Step) -> bool:
    return dtype_of(step.inputs.get("data")) in ("int4", "uint4")


def eight_bit_activations(graph: Graph) -> Hint | None:
    """W8A8 pays on newer chips and mostly there."""
    found = [step for step in graph.of_type("quantize") if not graph.is_constant(step.inputs["input"])]
    if not found:
        return None
    title = "Activations are stored in 8 bits, which pays on A17 Pro, M4 and later, mostly on the Neural Engine"
    return hint("8-bit activations", title, found, "on older chips 8-bit weights alone do as well", GUIDE)


def sparsity(graph: Graph) -> Hint | None:
    """Zeros pay from about 75 %, or in blocks."""
    found = [(step, density) for step in graph.weights if (density := _density(step)) is not None]
    dense = [(step, density) for step, density in found if 1 - density < USEFUL_SPARSITY]
    if not dense:
        return None
    share = 1 - min(density for _, density in dense)
    title = f"Sparse weights have {share:.0%} zeros or fewer; speed comes from about {USEFUL_SPARSITY:.0%}"
    return hint("sparsity", title, [step for step, _ in dense], "prune more, in blocks, or palettize", GUIDE)


def _density(step: Step) -> float | None:
    """The share of weights that are stored."""
    kept = step.inputs.get("nonzero_data")
    if step.op_type != "constexpr_sparse_to_dense" or kept is None:
        return None
    return elements(kept) / max(1, elements(step.results[0].variable))


def kept_state(graph: Graph) -> Hint | None:
    """A cache of keys and values that is only read in the model, and tables of positions as inputs."""
    written = graph.of_type("coreml_update_state", "write_state")
    if not graph.program.states or not written:
        return None
    title = f"Updates write the state {', '.join(graph.program.states)} within the model"
    remedy = "take the cache as an input that is only read, give the new rows as an output, write them outside"
    return hint("kept state", title, written, remedy, RULES)


def position_tables(graph: Graph) -> Hint | None:
    """Sines and cosines of positions come from outside."""
    found = graph.of_type("sin", "cos")
    if len({step.op_type for step in found}) < 2:
        return None
    title = "Sines and cosines are computed in the model"
    return hint("position tables", title, found, "give tables for positions as inputs", RULES)
