"""Where a wrong conversion begins: the first operation whose value differs from the source's."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx

from explorer.conversion.inputs import ProofInputs
from explorer.inference.compare import Array
from explorer.inference.coreml.evaluate import evaluate, evaluate_samples
from explorer.inference.coreml.program import Step, load_program
from explorer.inference.coreml.quiet import quiet

RELATIVE_TOLERANCE = 1e-4
# Operations that only move values: coremltools numbers their names anew, so the same name may mean another value.
MOVING = frozenset(
    {"reshape", "transpose", "expand_dims", "squeeze", "slice_by_index", "identity", "cast", "split", "concat", "gather"}
)


class _Recorder(fx.Interpreter):
    """Runs a graph and keeps the tensor that each node gives, by the node's name."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[str, Array] = {}

    def run_node(self, node: fx.Node) -> Any:
        result = super().run_node(node)
        if isinstance(result, Tensor):
            self.values[node.name] = result.detach().numpy()
        return result


def first_wrong_operation(graph: Any, package: Path, proof: ProofInputs) -> str:
    """The first operation of the float32 package whose value is not that of the node with its name, on the worst sample.

    Empty for a traced graph, which carries no names, and when no value of a shared name differs.
    """
    if not isinstance(graph, torch.export.ExportedProgram):
        return ""
    program = load_program(package)
    worst = _worst_sample(program, proof)
    recorder = _Recorder(graph.module())
    with quiet(), torch.no_grad():
        recorder.run(torch.from_numpy(worst))
    port = next(iter(program.inputs))
    got = evaluate(program, {port: worst}, "float32", keep_values=True).values
    return next((_words(step) for step in program.steps() if _differs(step, got, recorder.values)), "")


def _worst_sample(program: Any, proof: ProofInputs) -> Array:
    """The input with the largest error, twice where the batch is open: the source's graph may refuse a batch of one."""
    inputs, expected = proof.exact()
    error = np.abs(evaluate_samples(program, inputs, "float32").output - expected)
    at = int(error.reshape(len(inputs), -1).max(1).argmax())
    count = 1 if next(iter(program.inputs.values())).max_batch == 1 else 2
    return np.repeat(inputs[at : at + 1], count, axis=0)


def _differs(step: Step, got: dict[str, Array], expected: dict[str, Array]) -> bool:
    name = step.results[0].name if step.results else ""
    if step.op_type in MOVING or name not in got or name not in expected or got[name].shape != expected[name].shape:
        return False
    ours, theirs = got[name].astype(np.float64), expected[name].astype(np.float64)
    return bool(np.abs(ours - theirs).max(initial=0.0) > RELATIVE_TOLERANCE * max(1.0, np.abs(theirs).max(initial=0.0)))


def _words(step: Step) -> str:
    return f"first at {step.results[0].name} ({step.op_type})"
