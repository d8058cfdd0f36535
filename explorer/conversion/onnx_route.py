"""An ONNX file by the first way that both exports and passes its proof."""

from pathlib import Path

from torch import nn

from explorer.conversion.failures import Failures
from explorer.conversion.inputs import ProofInputs
from explorer.conversion.proof import onnx_check
from explorer.conversion.route import Route
from explorer.conversion.to_onnx import export_onnx
from explorer.files import remove
from explorer.reporter import Reporter
from explorer.schemas.results import Check
from explorer.schemas.specs import ConvertSpec


def proven_onnx(
    spec: ConvertSpec, module: nn.Module, proof: ProofInputs, path: Path, route: Route, report: Reporter
) -> list[Check]:
    """Write the file at `path`, with an open batch size where the model allows it, and give its check.

    Raises `ExplorerError` naming the operator or the failed check when no way works.
    """
    failures = Failures(spec.source, "ONNX", route, report)
    for open_batch in (True, False) if spec.dynamic_batch else (False,):
        way = f"torch.onnx export, {'open' if open_batch else 'fixed'} batch"
        try:
            with route.step(way):
                export_onnx(module, proof.example, open_batch, path, spec)
            with route.step("check in ONNX Runtime"):
                check = onnx_check(path, proof)
        except Exception as error:
            remove(path)
            if failures.broke(way, error).operator:
                break
            continue
        if failures.passed(check):
            if spec.dynamic_batch and not open_batch:
                route.find("info", "The batch size is fixed at 1", "the model does not work with an open batch size")
            return [check]
        remove(path)
    raise failures.error()
