"""Every value that a converted model computes, by operation: Core ML programs in the evaluator, ONNX files in ONNX Runtime."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explorer.conversion.feeds import accepted
from explorer.inference.compare import Array
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import Program, Step, load_program

PRECISION_SUFFIX = re.compile(r"(_cast_fp\d+|_to_fp\d+|_type_fp32|_promoted)(_\d+)?$")


@dataclass(frozen=True)
class Computed:
    """One value of a converted model: `inputs` name the values that the operation reads, `array` is None when it was not kept."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    array: Array | None


def computed(model: Path | str | Program, feed: Mapping[str, Array]) -> list[Computed]:
    """The values of one call, in the order of the program. `feed` gives the inputs by name."""
    if isinstance(model, str | Path) and str(model).endswith(".onnx"):
        return _of_onnx(Path(model), feed)
    return _of_program(model if isinstance(model, Program) else load_program(model), feed)


def base_name(name: str) -> str:
    """A value's name as it was before the precision was chosen, in the characters that a package allows."""
    clean = re.sub(r"\W", "_", PRECISION_SUFFIX.sub("", name))
    # coremltools puts var_ before a value's number and op_ before an operation's.
    return re.sub(r"^(op_)?(?=\d)", "var_", clean)


def _of_program(program: Program, feed: Mapping[str, Array]) -> list[Computed]:
    kept = evaluate(program, accepted(program, feed), "float32", keep_values=True, ranges=False).values
    return [
        Computed(result.name, step.op_type, reads(step), kept.get(result.name))
        for step in program.steps()
        for result in step.results
    ]


def reads(step: Step) -> tuple[str, ...]:
    """The names of the values that a step reads."""
    names = [item for source in step.inputs.values() for item in (source if isinstance(source, tuple) else (source,))]
    return tuple(str(item.name) for item in names)


def _of_onnx(path: Path, feed: Mapping[str, Array]) -> list[Computed]:
    import onnx
    import onnxruntime

    model = onnx.load(str(path))
    names = [name for node in model.graph.node for name in node.output if name]
    already = {item.name for item in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in already)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    # Fused operators would have no values of their own.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    runner = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = dict(zip(names, runner.run(names, {key: np.asarray(value) for key, value in feed.items()}), strict=True))
    return [
        Computed(name, node.op_type, tuple(node.input), np.asarray(values[name]))
        for node in model.graph.node
        for name in node.output
        if name
    ]
