"""Operators that a converter has no rule for, told from its registry without converting."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import fx, nn

from explorer.conversion.ports import Traced
from explorer.conversion.preflight_capture import Captured
from explorer.conversion.preflight_graph import place_of
from explorer.conversion.tape import own_path
from explorer.conversion.user_lines import user_line
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

Missing = dict[str, str]  # operator to the place of its first use
# What the export leaves for checks only.
CHECKS = ("_assert", "sym_", "_local_scalar_dense", "_guards")


def missing_operators(capture: Captured, traced: Traced, module: nn.Module, spec: ConvertSpec) -> list[Finding]:
    """An error for each operator without a rule, when every way of capturing meets one; an info where it is decomposed."""
    if spec.target == "onnx":
        return [_finding(*item, "ONNX") for item in _missing_in_onnx(capture, traced, spec).items()]
    if spec.target == "pt2" or isinstance(traced.original, torch.jit.ScriptModule):
        return []
    decomposed: Missing = {}
    exported = _missing_in_export(capture, traced, decomposed) if capture.program is not None else None
    said = [_decomposed(*item) for item in decomposed.items()] if spec.rewrites else []
    if exported == {}:
        return said
    by_trace = _missing_in_trace(traced, module)
    if by_trace == {} or (exported is None and by_trace is None):
        return []
    # What both ways lack is what stops the conversion; else either list tells.
    found = by_trace if by_trace is not None else exported
    return [_finding(*item, "Core ML") for item in (found or {}).items()]


def _finding(operator: str, place: str, target: str) -> Finding:
    return Finding(
        severity="error",
        title=f"{target} has no rule for the operator {operator}",
        evidence=place,
        remedy="replace that operator in the model",
    )


def _decomposed(operator: str, place: str) -> Finding:
    return Finding(
        severity="info", title=f"mended: {operator} is decomposed", evidence=place, remedy="an equal replacement is used"
    )


def _missing_in_export(capture: Captured, traced: Traced, decomposed: Missing) -> Missing:
    from explorer.conversion.rewrites import decompositions

    assert capture.program is not None
    known, table = _coreml_registry(), decompositions("coreml")
    found: Missing = {}
    for node, target in _calls(capture.program):
        if not known(target.__name__) and _is_judged(target) and not _falls_apart(target):
            (decomposed if target in table else found).setdefault(target.overloadpacket.__name__, place_of(node, traced))
    return found


def _missing_in_trace(traced: Traced, module: nn.Module) -> Missing | None:
    """None when the module cannot be traced."""
    known = _coreml_registry()
    try:
        with quiet(), torch.no_grad(), plain_attention():
            graph = torch.jit.trace(module, traced.examples, check_trace=False).inlined_graph  # type: ignore[no-untyped-call]
    except Exception:  # whatever the model's code raises under the tracer
        return None
    paths = {path for path, _ in traced.original.named_modules()}
    found: Missing = {}
    for node in _script_nodes(graph):
        if node.kind().startswith("aten::") and not known(node.kind()):
            scope = own_path(node.scopeName().rpartition("/")[2].removeprefix("__module."), paths)
            place = ", ".join(part for part in (scope, _script_line(node.sourceRange())) if part)
            found.setdefault(node.kind().removeprefix("aten::").rstrip("_"), place)
    return found


def _script_nodes(graph: Any) -> Iterator[Any]:
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from _script_nodes(block)


def _script_line(text: str) -> str:
    """The innermost user line of a TorchScript source range, whose frames read path(12): name, innermost first."""
    frames = [line.rpartition("): ")[0].rpartition("(") for line in text.splitlines() if "): " in line]
    quoted = "\n".join(f'File "{path.strip()}", line {line}, in x' for path, _, line in reversed(frames) if line.isdecimal())
    return user_line(quoted)


def _coreml_registry() -> Callable[[str], bool]:
    """Whether coremltools' torch front end has a rule for an operator's name."""
    coremltools()
    with quiet():
        from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY as registry
    return lambda name: registry.get_func(name) is not None


def _missing_in_onnx(capture: Captured, traced: Traced, spec: ConvertSpec) -> Missing:
    """What torch's exporter lacks once it has decomposed what it can."""
    if capture.program is None or spec.exporter == "torchscript":
        return {}
    with quiet():
        from torch.onnx._internal.exporter import _decomp, _registration

        registry = _registration.ONNXRegistry.from_torchlib(opset_version=spec.opset)
        if all(registry.is_registered(target) for _, target in _calls(capture.program)):
            return {}
        table = _decomp.create_onnx_friendly_decomposition_table(set(_decomp.get_onnx_implemented_overloads(registry)))
        program = capture.program.run_decompositions(table)
    found: Missing = {}
    for node, target in _calls(program):
        if not registry.is_registered(target) and _is_judged(target):
            found.setdefault(target.overloadpacket.__name__, place_of(node, traced))
    return found


def _calls(program: torch.export.ExportedProgram) -> Iterator[tuple[fx.Node, torch._ops.OpOverload[Any, Any]]]:
    for node in program.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            yield node, node.target


def _falls_apart(target: torch._ops.OpOverload[Any, Any]) -> bool:
    """Whether torch makes simpler operators of it in any decomposition, such as split of chunk: those that may give a view."""
    composite = target.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
    return composite and any(item.alias_info is not None for item in target._schema.returns)


def _is_judged(target: torch._ops.OpOverload[Any, Any]) -> bool:
    """Writes become plain operators before they are converted, and checks go."""
    return not target._schema.is_mutable and not target.overloadpacket.__name__.startswith(CHECKS)
