"""Describe a model file, whatever it is, without running code from it or loading its weights."""

from collections.abc import Callable
from pathlib import Path

from explorer.models import coreml_file, exported_program, onnx_file, safetensors_file, torch_legacy, torch_zip, torchscript
from explorer.models.content import Format, recognise
from explorer.models.job_files import resolve_file
from explorer.reporter import Reporter
from explorer.schemas.results import InspectResult
from explorer.schemas.specs import InspectSpec

READERS: dict[Format, Callable[[Path], InspectResult]] = {
    "torch_zip": torch_zip.describe,
    "torch_legacy": torch_legacy.describe,
    "pickle": torch_legacy.describe_plain,
    "torchscript": torchscript.describe,
    "exported_program": exported_program.describe,
    "safetensors": safetensors_file.describe,
    "onnx": onnx_file.describe,
    "coreml_spec": coreml_file.describe_spec,
    "mlpackage": coreml_file.describe,
}
ARTIFACTS = ("model.onnx", "model.mlpackage", "model.safetensors")


def run(spec: InspectSpec, report: Reporter) -> InspectResult:
    """The description of a file, an .mlpackage or what `job:ID` made; the format is recognised by content, never by name.

    Raises `ExplorerError` with one sentence for what is no model, is cut off, or names code and holds no tensor.
    """
    path = resolve_file(spec.source, ARTIFACTS)
    result = READERS[recognise(path)](path)
    return result.model_copy(update={"source": spec.source})
