"""The specification and program of an .mlpackage, read by coremltools' own loader."""

import json
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import coremltools, quiet

AGAIN = "write the package again"
LOST_WEIGHTS = ("index out of bounds", "Could not open", "Unable to mmap")  # what coremltools' reader of weights says


def read_package(path: Path) -> tuple[Any, Any]:
    """The MIL program and the specification; raises `ExplorerError` with what is wrong in one sentence."""
    model = _model_file(path)
    ct = coremltools()
    try:
        with quiet():
            from coremltools.converters.mil.frontend.milproto import load as milproto

            spec = ct.utils.load_spec(str(model))
            if spec.WhichOneof("Type") != "mlProgram":
                raise ExplorerError(f"{path} holds a {spec.WhichOneof('Type')}, not an ML Program", "convert it again")
            loaded = milproto.load(spec, spec.specificationVersion, file_weights_dir=str(model.parent / "weights"))
    except ExplorerError:
        raise
    except Exception as error:
        if any(words in str(error) for words in LOST_WEIGHTS):
            raise ExplorerError(f"the weights of {path} are missing or cut off", AGAIN) from error
        raise ExplorerError(f"{path} cannot be read ({_first_line(error)})", AGAIN) from error
    if not loaded.functions:
        raise ExplorerError(f"{path} holds no function", AGAIN)
    return loaded, spec


def function_description(spec: Any, function: str) -> Any:
    """What the specification says of one function's inputs and outputs; all of it when the package has only one."""
    return next((item for item in spec.description.functions if item.name == function), spec.description)


def _model_file(path: Path) -> Path:
    try:
        manifest = json.loads((path / "Manifest.json").read_text(encoding="utf-8"))
        entry = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]
        model = path / "Data" / str(entry["path"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ExplorerError(f"{path} is not an .mlpackage", "give the folder that a Core ML conversion wrote") from None
    if not model.resolve().is_relative_to(path.resolve()):
        raise ExplorerError(f"{path} names a model outside itself", "do not load it")
    return model


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
