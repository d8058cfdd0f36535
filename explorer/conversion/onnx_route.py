"""An ONNX file by the first way that both exports and passes its proof."""

from pathlib import Path

import torch
from torch import nn

from explorer.conversion.ladder import Ladder, Made
from explorer.conversion.onnx_layers import first_wrong_layer
from explorer.conversion.ports import Traced
from explorer.conversion.preflight_provider import provider_forecast
from explorer.conversion.proof import onnx_check
from explorer.conversion.to_onnx import Exporter, export_onnx
from explorer.files import remove

BRANCHES = "branches on values"


def proven_onnx(ladder: Ladder) -> Made:
    """Write the file, with an open batch size where the model allows it, and give its check.

    Raises `ExplorerError` naming the operator or the failed check when no way works.
    """
    exporters: list[Exporter] = ["dynamo", "torchscript"] if ladder.spec.exporter == "auto" else [ladder.spec.exporter]
    module, lines = ladder.rewritten(ladder.traced.module, ladder.traced, "onnx")
    hopeless: set[Exporter] = set()
    if isinstance(ladder.traced.original, torch.jit.ScriptModule):
        exporters = ["torchscript"]  # torch.export takes no TorchScript
    for traced in ladder.variants():
        for exporter in (item for item in exporters if item not in hopeless):
            made = _tried(ladder, module, traced, exporter, hopeless)
            if made is not None:
                made.rewrites = lines
                ladder.say_batch(traced)
                return made
    raise ladder.failures.error()


def _tried(ladder: Ladder, module: nn.Module, traced: Traced, exporter: Exporter, hopeless: set[Exporter]) -> Made | None:
    """One way to its check; None when it breaks or differs, which is kept."""
    way = f"torch.onnx {exporter}, {_shape_words(traced)}"
    proof = ladder.proof_of(traced)
    try:
        with ladder.route.step(way):
            files = export_onnx(module, traced, exporter, ladder.path, ladder.spec)
        with ladder.route.step("check in ONNX Runtime"):
            check = onnx_check(ladder.path, proof)
    except Exception as error:
        _clear(ladder.path)
        cause = ladder.failures.broke(way, error)
        if cause.lacks_rule:
            hopeless.add(exporter)
        if BRANCHES in cause.message:
            hopeless.add("torchscript")  # it would freeze the branch
        return None
    details: dict[str, str] = {}
    if not check.passed:
        check, details = ladder.located(check, ladder.path, proof, ladder.traced.module)
    if not ladder.failures.passed(check, details):
        _clear(ladder.path)
        return None
    if (finding := provider_forecast(ladder.path)) is not None:
        ladder.route.find(finding.severity, finding.title, finding.evidence, finding.remedy)
    checks = [check, first_wrong_layer(ladder, module, traced)] if ladder.spec.layers else [check]
    return Made(files, checks, ladder.port_words(traced))


def _shape_words(traced: Traced) -> str:
    if any(not port.is_fixed for port in traced.inputs) and not traced.open_batch:
        return "declared shapes"
    return "open batch" if traced.open_batch else "fixed batch"


def _clear(path: Path) -> None:
    for item in path.parent.iterdir():
        remove(item)
