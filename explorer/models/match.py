"""Weights laid against a module that is built without memory: which names and shapes fit, before anything is loaded."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.content import recognise
from explorer.models.factories import build
from explorer.models.job_files import PREFIX, model_record, resolve_file
from explorer.models.renaming import Renaming, best_renaming, renamed
from explorer.models.resize import resize_to
from explorer.models.tensor_reader.reading import stored_tensors
from explorer.models.tensor_reader.torch_files import model_part
from explorer.reporter import Reporter
from explorer.schemas.events import Finding
from explorer.schemas.model_results import MatchResult, ShapeMismatch
from explorer.schemas.model_specs import MatchSpec

WEIGHTS = ("model.safetensors",)
SHOWN = 3
Shapes = dict[str, tuple[int, ...]]


def run(spec: MatchSpec, report: Reporter) -> MatchResult:
    """A dry run of loading: the module is built on torch's meta device, names and shapes of the weights are read, nothing else.

    Raises `ExplorerError` when the factory fails or the weights are no model file.
    """
    path = resolve_file(spec.weights, WEIGHTS)
    found, part = _stored_shapes(path)
    report.progress(0, 2, "building the module", "steps")
    module, findings = _module(spec.source)
    report.control()
    if (record := model_record(path)) is not None and record.structure == "resized":
        resize_to(module, {name: torch.empty(shape, device="meta") for name, shape in found.items()})
    expected = {name: tuple(value.shape) for name, value in module.state_dict().items() if isinstance(value, torch.Tensor)}
    report.progress(2, 2, "", "steps")
    if part:
        findings.append(Finding(severity="info", title=f"the model's weights are below {part[:-1]!r} in the checkpoint"))
    return _result(spec, expected, found, [*findings, *_tied(module, expected, found)])


def _result(spec: MatchSpec, expected: Shapes, found: Shapes, findings: list[Finding]) -> MatchResult:
    missing = [name for name in expected if name not in found]
    unexpected = [name for name in found if name not in expected]
    mismatched = [
        ShapeMismatch(name=name, expected=list(expected[name]), found=list(found[name]))
        for name in expected
        if name in found and expected[name] != found[name]
    ]
    matched = len(expected) - len(missing) - len(mismatched)
    better = best_renaming(found, expected)
    gain = better.is_needed and better.matches > matched
    return MatchResult(
        source=spec.source,
        weights=spec.weights,
        matched=matched,
        missing=missing,
        unexpected=unexpected,
        mismatched=mismatched,
        suggestion=_advice(better) if gain else "",
        suggested_matches=better.matches if gain else None,
        fits=not (missing or unexpected or mismatched),
        findings=findings,
    )


def _advice(change: Renaming) -> str:
    """The weights' names are what can be changed."""
    if not change.second:
        return f"remove {change.first!r} from the start of the weights' names"
    if not change.first:
        return f"put {change.second!r} before the weights' names"
    return f"replace {change.first!r} by {change.second!r} at the start of the weights' names"


def _stored_shapes(path: Path) -> tuple[Shapes, str]:
    """Shapes by name, of a checkpoint's model part when it has one, and the beginning that names the part."""
    shapes = {tensor.name: tensor.shape for tensor in stored_tensors(path) if not tensor.parts}
    kind = recognise(path) if path.is_file() and path.suffix != ".json" else ""
    part = model_part(path, kind == "torch_legacy") if kind in ("torch_zip", "torch_legacy") else ""
    inside = {name: shape for name, shape in shapes.items() if name.startswith(part)}
    return (renamed(inside, part), part) if inside else (shapes, "")


def _module(source: str) -> tuple[nn.Module, list[Finding]]:
    if source.startswith(PREFIX):
        record = model_record(resolve_file(source, WEIGHTS))
        if record is None:
            raise ExplorerError(f"{source} has no model.json that names its factory", "give file.py:factory")
        source = record.source
    try:
        with torch.device("meta"):
            return build(source)[0], []
    except ExplorerError as error:
        module = build(source)[0]
        title = "the module was built with memory, since its code does not run on torch's meta device"
        return module, [Finding(severity="info", title=title, evidence=error.message)]


def _tied(module: nn.Module, expected: Mapping[str, object], found: Mapping[str, object]) -> list[Finding]:
    """Missing names whose parameter the weights hold under another name, as .safetensors files of tied models do."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    pairs = [
        (name, next(other for other in group if other in found))
        for group in names.values()
        if any(other in found for other in group)
        for name in group
        if name in expected and name not in found
    ]
    if not pairs:
        return []
    shown = ", ".join(f"{name} is {other}" for name, other in pairs[:SHOWN])
    remedy = "load with strict=False, or save each under both names"
    return [Finding(severity="info", title=f"missing, but tied to weights that are there: {shown}", remedy=remedy)]
