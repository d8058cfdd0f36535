"""An ONNX program against its source layer by layer, through torch's own comparison."""

import math

import torch
from torch import nn
from torch.onnx.verification import verify_onnx_program

from explorer.conversion.ladder import Ladder
from explorer.conversion.ports import Traced
from explorer.conversion.proof import EXACT, ONNX_RUNTIME, SMALLEST_MAGNITUDE
from explorer.conversion.to_coreml import dynamic_shapes
from explorer.inference.coreml.quiet import quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.results import Check


def first_wrong_layer(ladder: Ladder, module: nn.Module, traced: Traced) -> Check:
    """A check over every value that both sides have; the first that differs is named with its module.

    The dynamo exporter keeps the names that this needs, so its program is made once more.
    """
    with ladder.route.step("compare every layer"), quiet(), torch.no_grad(), plain_attention():
        exported = torch.export.export(module, traced.examples, dynamic_shapes=dynamic_shapes(traced), strict=False)
        program = torch.onnx.export(exported, opset_version=ladder.spec.opset, dynamo=True, verbose=False)
        assert program is not None
        found = verify_onnx_program(program, traced.examples, compare_intermediates=True)
        places = _places(program.exported_program)
    ladder.report.log(f"{len(found)} layers were compared")
    wrong = next((item for item in found if not _close(item)), None)
    where = ""
    if wrong is not None:
        place = places.get(wrong.name, "")
        where = f"first at {wrong.name}{f' in {place}' if place else ''}"
        ladder.route.find("warning", "A layer of the ONNX file differs", where)
    return Check(
        runtime=ONNX_RUNTIME,
        mode="layer by layer",
        samples=len(found),
        max_abs_error=max((float(item.max_abs_diff) for item in found), default=0.0),
        max_rel_error=max((float(item.max_rel_diff) for item in found), default=0.0),
        snr_db=math.inf if wrong is None else 0.0,
        tolerance=f"error <= {EXACT:g} of the largest value of a layer",
        passed=wrong is None,
        first_difference=where,
    )


def _close(item: object) -> bool:
    """torch gives the largest error and its histogram; values themselves are not kept, so the error counts against 1."""
    error = float(getattr(item, "max_abs_diff", math.inf))
    relative = float(getattr(item, "max_rel_diff", math.inf))
    return error <= EXACT * SMALLEST_MAGNITUDE or relative <= EXACT or error <= EXACT


def _places(program: torch.export.ExportedProgram | None) -> dict[str, str]:
    """The module path that each node of an exported program came from."""
    if program is None:
        return {}
    found = {}
    for node in program.graph.nodes:
        stack = node.meta.get("nn_module_stack") or {}
        found[node.name] = next((path for path, _ in reversed(list(stack.values())) if path), "")
    return found
