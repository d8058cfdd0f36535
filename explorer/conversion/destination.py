"""Where a converted model goes: its name among the job's artifacts, and the file that the user asked for."""

import shutil
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.files import remove, written_by_rename
from explorer.schemas.convert_spec import ConvertTarget

Target = ConvertTarget
SUFFIXES: dict[ConvertTarget, str] = {"onnx": ".onnx", "coreml": ".mlpackage", "pt2": ".pt2"}
DATA_ENDING = ".data"


def artifact_name(target: Target) -> str:
    """`model.onnx`, `model.mlpackage` or `model.pt2`."""
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
    if target != "coreml" and path.is_dir():
        raise ExplorerError(f"{output} is a folder", "name a file")
    if path.suffix == ".mlpackage" and path.exists() and not (path / "Manifest.json").is_file():
        raise ExplorerError(f"{output} exists and is not an .mlpackage", "name another, or remove it")
    return path


def deliver(artifact: Path, target: Path) -> None:
    """Copy an artifact to `target` under a temporary name, then rename it into place.

    An ONNX file with weights beside it brings them along under its own name. The weights come first and an older model goes
    before them, so that a model under the final name is always whole.
    """
    data = artifact.with_name(artifact.name + DATA_ENDING)
    try:
        if data.is_file():
            remove(target)
            _copied(data, target.with_name(target.name + DATA_ENDING))
        with written_by_rename(target) as temporary:
            if data.is_file() and target.name != artifact.name:
                _renamed_data(artifact, temporary, target.name + DATA_ENDING)
            elif artifact.is_dir():
                shutil.copytree(artifact, temporary)
            else:
                shutil.copyfile(artifact, temporary)
    except OSError as error:
        raise ExplorerError(f"{target} cannot be written ({error.strerror})", "choose another output") from error


def _copied(source: Path, target: Path) -> None:
    with written_by_rename(target) as temporary:
        shutil.copyfile(source, temporary)


def _renamed_data(artifact: Path, target: Path, location: str) -> None:
    """The model with another name of its weights' file in it."""
    import onnx

    model = onnx.load(str(artifact), load_external_data=False)
    for tensor in onnx.external_data_helper._get_all_tensors(model):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    onnx.save(model, str(target))
