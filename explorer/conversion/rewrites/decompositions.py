"""torch's own decompositions for exported operators that coremltools has no name for."""

from typing import Any

import torch

from explorer.conversion.rewrites.rule import Target
from explorer.inference.coreml.quiet import coremltools, quiet


def decompositions(target: Target) -> dict[Any, Any]:
    """For `ExportedProgram.run_decompositions`: empty for ONNX, whose exporter brings its own.

    For Core ML all operators without a rule of that name; those that it knows stay whole, as its rule is the better one.
    """
    if target == "onnx":
        return {}
    coremltools()
    with quiet():
        known = _known_names()
        table = torch.export.default_decompositions()
        return {item: table[item] for item in list(table) if str(item).startswith("aten.") and _name(item) not in known}


def _known_names() -> frozenset[str]:
    from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY

    return frozenset(_TORCH_OPS_REGISTRY.name_to_func_mapping)


def _name(item: Any) -> str:
    """`aten::add_.Tensor` as coremltools looks it up: without namespace, overload and the mark of an in-place operator."""
    return str(item._schema.name).partition("::")[2].removesuffix("_")
