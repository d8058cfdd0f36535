"""The operators of a model, in order, without running or loading it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models import graph_coreml, graph_exported, graph_onnx
from explorer.models.content import recognise
from explorer.models.job_files import resolve_file
from explorer.reporter import Reporter
from explorer.schemas.model_results import GraphResult
from explorer.schemas.model_specs import GraphSpec

ARTIFACTS = ("model.onnx", "model.mlpackage")
READERS: Mapping[str, Callable[[Path], GraphResult]] = {
    "onnx": graph_onnx.read,
    "coreml_spec": graph_coreml.read,
    "mlpackage": graph_coreml.read,
    "exported_program": graph_exported.read,
}


def run(spec: GraphSpec, report: Reporter) -> GraphResult:
    """Raises `ExplorerError` when the file is damaged, or of a format that holds weights or code instead of a graph."""
    path = resolve_file(spec.source, ARTIFACTS)
    format = recognise(path)
    reader = READERS.get(format)
    if reader is None:
        kind = format.replace("_", " ")
        raise ExplorerError(f"{path} holds no graph: it is {kind}", "give an .onnx, .pt2 or .mlpackage model, or export one")
    report.progress(0, 1, "reading the graph", "files")
    result = reader(path)
    report.progress(1, 1, "", "files")
    return result.model_copy(update={"source": spec.source})
