"""Where a converted model goes: its name among the job's artifacts, and the file that the user asked for."""

import shutil
from pathlib import Path
from typing import Literal

from explorer.errors import ExplorerError
from explorer.files import written_by_rename

Target = Literal["onnx", "coreml"]
SUFFIXES = {"onnx": ".onnx", "coreml": ".mlpackage"}


def artifact_name(target: Target) -> str:
    """`model.onnx` or `model.mlpackage`."""
    return f"model{SUFFIXES[target]}"


def destination(output: str | None, target: Target) -> Path | None:
    """The file or package that a spec's `output` means: the path itself, or the artifact's name inside a folder.

    Raises `ExplorerError` for a name that does not end as the format demands.
    """
    if output is None:
        return None
    path = Path(output).expanduser().absolute()
    suffix = SUFFIXES[target]
    if path.is_dir() and path.suffix != suffix:
        return path / artifact_name(target)
    if path.suffix != suffix:
        raise ExplorerError(f"{output} does not end in {suffix}", f"name a {suffix} file or a folder")
    if target == "onnx" and path.is_dir():
        raise ExplorerError(f"{output} is a folder", "name a file")
    if path.suffix == ".mlpackage" and path.exists() and not (path / "Manifest.json").is_file():
        raise ExplorerError(f"{output} exists and is not an .mlpackage", "name another, or remove it")
    return path


def deliver(artifact: Path, target: Path) -> None:
    """Copy an artifact to `target` under a temporary name, then rename it into place."""
    try:
        with written_by_rename(target) as temporary:
            if artifact.is_dir():
                shutil.copytree(artifact, temporary)
            else:
                shutil.copyfile(artifact, temporary)
    except OSError as error:
        raise ExplorerError(f"{target} cannot be written ({error.strerror})", "choose another output") from error
