"""Eight-bit weights in Core ML packages: stored as int8 with a scale, made float again when the model runs."""

from pathlib import Path

import torch

from explorer.compression.int8_nodes import ComputeNodes
from explorer.errors import ExplorerError
from explorer.inference.coreml.program import Program, load_program
from explorer.inference.coreml.quiet import coremltools, quiet

# Below this a scale and an operation cost about as much as the bytes saved.
MIN_ELEMENTS = 512
STORED_AS = "constexpr_"


def quantize(source: Path, target: Path, per_channel: bool = True) -> None:
    """Write the twin of the package `source` with symmetric int8 weights to `target`; needs iOS 16 or macOS 13 to run.

    Raises `ExplorerError` when the weights are compressed already or there is none worth compressing.
    """
    before = stored_weights(load_program(source))
    if before.int8:
        raise ExplorerError(f"{source} stores compressed weights already ({before.int8[0]})", "give the package it was made from")
    if not before.floating:
        raise ExplorerError(
            f"{source} has no weight of {MIN_ELEMENTS} values or more", "it is too small to gain from quantization"
        )
    ct = coremltools()
    with quiet():
        import coremltools.optimize.coreml as optimize

        weights = optimize.OpLinearQuantizerConfig(
            mode="linear_symmetric",
            dtype="int8",
            granularity="per_channel" if per_channel else "per_tensor",
            weight_threshold=MIN_ELEMENTS,
        )
        model = ct.models.MLModel(str(source), skip_model_load=True)
        config = optimize.OptimizationConfig(global_config=weights)
        # coremltools picks the format by the name's ending, which a temporary name keeps.
        optimize.linear_quantize_weights(model, config).save(str(target))


def stored_weights(program: Program) -> ComputeNodes:
    """Names of the weight tensors of at least `MIN_ELEMENTS` values: those stored compressed, and those stored as floats."""
    compressed = [step for step in program.steps() if step.op_type.startswith(STORED_AS)]
    parts = {id(value) for step in compressed for value in step.inputs.values()}
    floats = [
        variable.name
        for variable, value in program.constants.items()
        if id(variable) not in parts
        and isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.numel() >= MIN_ELEMENTS
    ]
    return ComputeNodes(int8=[step.name for step in compressed], floating=floats)
