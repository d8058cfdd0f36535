"""What can be told before anything is converted: one capture of the graph, looked over for what will fail or come out wrong."""

import re

import torch
from torch import nn

from explorer.conversion.ports import Traced
from explorer.conversion.preflight_capture import captured
from explorer.conversion.preflight_graph import GRAPH_CHECKS, Graph
from explorer.conversion.preflight_modules import MODULE_CHECKS
from explorer.conversion.preflight_operators import missing_operators
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

__all__ = ["details", "preflight"]

OPERATOR = re.compile(r"rule for the operator (\S+)|^(\w+) (?:is given|computes)")


def preflight(traced: Traced, spec: ConvertSpec, was_training: bool = False) -> list[Finding]:
    """Everything found at once: an error refuses the conversion, a warning may break it, an info is mended or only said.

    `evidence` is the module path and the source line, such as "net.cell, model.py:12". `was_training` says that the source was
    put into evaluation mode before. Nothing is converted; the graph is captured once, and once more when rewrites mend something.
    """
    found = [item for check in MODULE_CHECKS for item in check(traced, spec, was_training)]
    plain = _graph_findings(traced, traced.module, spec)
    if not any(item.severity != "info" for item in plain) or not _may_rewrite(traced, spec):
        return [*found, *plain]
    changed, lines = _rewritten(traced, spec)
    if not lines:
        return [*found, *plain]
    left = _graph_findings(traced, changed, spec)
    remaining = {item.title for item in left}
    mended = [_mended(item) for item in plain if item.title not in remaining]
    replaced = [Finding(severity="info", title=f"rewritten: {line}") for line in lines]
    return [*found, *left, *mended, *replaced]


def _graph_findings(traced: Traced, module: nn.Module, spec: ConvertSpec) -> list[Finding]:
    capture = captured(traced, module)
    found = list(capture.findings(spec))
    if capture.program is not None:
        graph = Graph(capture.program, traced, spec)
        found += [item for check in GRAPH_CHECKS for item in check(graph)]
    return [*found, *missing_operators(capture, traced, module, spec)]


def _may_rewrite(traced: Traced, spec: ConvertSpec) -> bool:
    return spec.rewrites and not spec.state and spec.target != "pt2" and not isinstance(traced.original, torch.jit.ScriptModule)


def _rewritten(traced: Traced, spec: ConvertSpec) -> tuple[nn.Module, list[str]]:
    from explorer.conversion.rewrites import rewritten

    return rewritten(traced.module, traced.examples, "onnx" if spec.target == "onnx" else "coreml")


def _mended(item: Finding) -> Finding:
    return Finding(severity="info", title=f"mended: {item.title}", evidence=item.evidence, remedy="an equal replacement is used")


def details(finding: Finding) -> dict[str, str]:
    """The facts of a finding for programs: reason, operator, module and line; "" where it names none."""
    module, _, line = finding.evidence.rpartition(", ")
    if not line.rpartition(":")[2].isdecimal():
        module, line = finding.evidence, ""
    operator = OPERATOR.search(finding.title)
    return {"reason": finding.title, "operator": operator[1] or operator[2] if operator else "", "module": module, "line": line}
