"""Describe a model file, whatever it is, without running code from it or loading its weights."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models import (
    aoti_package,
    coreml_file,
    exported_program,
    gguf_file,
    hub_folder,
    onnx_file,
    safetensors_file,
    shards,
    torch_legacy,
    torch_zip,
    torchscript,
)
from explorer.models.content import Format, recognise
from explorer.models.job_files import resolve_file
from explorer.models.names import misnamed
from explorer.reporter import Reporter
from explorer.schemas.model_results import InspectResult
from explorer.schemas.specs import InspectSpec

READERS: dict[Format, Callable[[Path], InspectResult]] = {
    "torch_zip": torch_zip.describe,
    "torch_legacy": torch_legacy.describe,
    "pickle": torch_legacy.describe_plain,
    "torchscript": torchscript.describe,
    "exported_program": exported_program.describe,
    "aoti_package": aoti_package.describe,
    "safetensors": safetensors_file.describe,
    "sharded": lambda path: shards.describe(path, describe_one),
    "hub_folder": lambda path: hub_folder.describe(path, describe_one),
    "onnx": onnx_file.describe,
    "coreml_spec": coreml_file.describe_spec,
    "mlpackage": coreml_file.describe,
    "gguf": gguf_file.describe,
}
PARTS = ("sharded", "hub_folder")
ARTIFACTS = ("model.onnx", "model.mlpackage", "model.safetensors")


def run(spec: InspectSpec, report: Reporter) -> InspectResult:
    """The description of a file, a folder or what `job:ID` made; the format is recognised by content, never by name.

    Raises `ExplorerError` with one sentence for what is no model, is cut off, or names code and holds no tensor.
    """
    return describe(resolve_file(spec.source, ARTIFACTS)).model_copy(update={"source": spec.source})


def describe(path: Path) -> InspectResult:
    """The description of a file or folder, with a finding when its name belongs to another format."""
    kind = recognise(path)
    result = _read(path, kind)
    wrong = misnamed(path, kind)
    return result.model_copy(update={"findings": [*result.findings, *wrong]}) if wrong else result


def describe_one(path: Path) -> InspectResult:
    """The description of one file of a model in several; an index or a folder among them is refused, so no circle is followed."""
    kind = recognise(path)
    if kind in PARTS:
        raise ExplorerError(f"{path} is an index or a folder, not a file of weights", "fetch the index again")
    return _read(path, kind)


def _read(path: Path, kind: Format) -> InspectResult:
    try:
        with _no_collection():
            return READERS[kind](path)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", "check its permissions") from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collector of reference cycles: a description of 20,000 tensors makes none, and it would look each time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
