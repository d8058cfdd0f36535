"""All rules on one program, the weightiest first.

Core ML promises nothing about where it runs an operator: each hint is what somebody published, with a date. The truth is what
`MLComputePlan` says on a Mac.
"""

from collections.abc import Callable

from explorer.inference.coreml.evaluate import Evaluation
from explorer.inference.coreml.program import Program
from explorer.inference.neural_engine import kernel_rules, layout_rules, number_rules, placement_rules, storage_rules, types_rules
from explorer.inference.neural_engine.graph import Graph
from explorer.schemas.convert_result import Hint
from explorer.schemas.convert_spec import ConvertSpec

Rule = Callable[[Graph], Hint | None]
# First what keeps work off the Neural Engine, then what costs precision, then what costs time, last what few have seen.
RULES: tuple[Rule, ...] = (
    types_rules.float32_values,
    types_rules.rank,
    placement_rules.custom_layers,
    placement_rules.recurrent,
    types_rules.open_dimensions,
    types_rules.enumerated_inputs,
    placement_rules.gathers,
    placement_rules.resample,
    placement_rules.device_switches,
    storage_rules.file_size,
    number_rules.mask_constants,
    number_rules.activation_ranges,
    kernel_rules.dilations,
    kernel_rules.pools,
    kernel_rules.strides,
    kernel_rules.kernels,
    kernel_rules.upsampling,
    layout_rules.attention,
    layout_rules.channels_first,
    layout_rules.linear_as_convolution,
    layout_rules.layout_share,
    layout_rules.transpose_pairs,
    types_rules.last_axis,
    types_rules.largest_value,
    layout_rules.softmax_axis,
    number_rules.decomposed_norms,
    storage_rules.blocks_of_four_bits,
    storage_rules.four_bit_integers,
    storage_rules.eight_bit_activations,
    storage_rules.sparsity,
    storage_rules.kept_state,
    storage_rules.position_tables,
    number_rules.activation_functions,
    placement_rules.channel_broadcast,
    placement_rules.port_sizes,
)


def hints(program: Program, spec: ConvertSpec | None = None, evaluation: Evaluation | None = None) -> list[Hint]:
    """What published rules say about `program`; ranges of activations are judged when `evaluation` has them.

    The system that the program needs is the spec's, else what the package declares.
    """
    target = spec.deployment_target if spec is not None else ""
    graph = Graph(program, target, evaluation.ranges if evaluation is not None else [])
    return [found for rule in RULES if (found := rule(graph)) is not None]
