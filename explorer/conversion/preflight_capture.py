"""The graph that preflight looks at: the source exported once, its open dimensions left for torch to judge."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from explorer.conversion.causes import Cause, explained
from explorer.conversion.ports import Traced, exported
from explorer.conversion.user_lines import user_frame
from explorer.inference.coreml.quiet import quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

ON_VALUES = "it branches on values"
WARNINGS = ("warn", "warning", "print", "info", "debug")
LEAVES_TORCH = "it leaves torch"


@dataclass(frozen=True)
class Captured:
    """The exported program, or None with the cause and the text of the error that stopped it."""

    program: torch.export.ExportedProgram | None
    cause: Cause | None = None

    def findings(self, spec: ConvertSpec) -> Iterator[Finding]:
        """What the failure of the capture means for this target."""
        cause = self.cause
        if cause is None:
            return
        refuses = spec.target == "pt2" or cause.message.startswith((ON_VALUES, LEAVES_TORCH))
        if cause.message.startswith(ON_VALUES) and spec.target != "pt2" and _only_checks(cause.original):
            yield Finding(
                severity="warning",
                title="a check on values in forward is left out of the result",
                evidence=cause.line,
                remedy="move it out of forward",
            )
        elif refuses:
            yield Finding(severity="error", title=cause.message, evidence=cause.line, remedy=cause.remedy)
        else:
            yield Finding(
                severity="info",
                title=f"torch.export cannot capture it: {cause.message}",
                evidence=cause.line,
                remedy="it is traced",
            )


def captured(traced: Traced, module: nn.Module) -> Captured:
    """Export `module` on the examples; a dimension that the ports leave open may be open or not, as the model demands."""
    shapes = tuple(_open_dimensions(traced))
    try:
        with quiet(), torch.no_grad(), plain_attention():
            # Flat modules take *inputs, so the shapes are those of one tuple.
            return Captured(exported(traced, module, (shapes,) if any(shapes) else None))
    except Exception as error:  # whatever torch or the model raises says why it cannot be captured
        return Captured(None, explained(error))


def _open_dimensions(traced: Traced) -> Iterator[dict[int, object]]:
    for port in traced.inputs:
        sizes = list(zip(*port.shapes, strict=True))
        yield {
            axis: torch.export.Dim.AUTO
            for axis, options in enumerate(sizes)
            if len(set(options)) > 1 or any(isinstance(size, tuple) for size in options)
        }


def _only_checks(text: str) -> bool:
    """Whether the branch that stopped the export only raises, asserts or warns."""
    frame = user_frame(text)
    try:
        tree = ast.parse(Path(frame[0]).read_text()) if frame else None
    except (OSError, SyntaxError, UnicodeDecodeError):
        return False
    if frame is None or tree is None:
        return False
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.If | ast.Assert) and node.lineno <= frame[1] <= _head_end(node)
    ]
    return bool(found) and all(_is_check(node) for node in found[-1:])


def _head_end(node: ast.If | ast.Assert) -> int:
    return int(node.test.end_lineno or node.lineno)


def _is_check(node: ast.If | ast.Assert) -> bool:
    if isinstance(node, ast.Assert):
        return True
    return not node.orelse and all(isinstance(item, ast.Raise | ast.Pass) or _is_warning(item) for item in node.body)


def _is_warning(item: ast.stmt) -> bool:
    call = item.value if isinstance(item, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in (
        "warn",
        "warning",
        "print",
        "info",
        "debug",
    )
