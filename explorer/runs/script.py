"""A Python script that repeats a training without explorer: readable, and with nothing in it that the training did not use."""

import filecmp
import shutil
from pathlib import Path

import torch
from pydantic import ValidationError

from explorer import files
from explorer.errors import ExplorerError
from explorer.models.job_files import PREFIX, job_folder, model_record, resolve_file
from explorer.models.weights import read_state_dict
from explorer.runs.script_text import Names, script_text
from explorer.schemas.jobs import JobRecord
from explorer.schemas.specs import TrainSpec

WEIGHTS = "model.safetensors"


def write_script(source: str, output: Path, *, overwrite: bool) -> None:
    """Write the script of `job:ID`, and beside it the files that it needs and that are not the user's own.

    Raises `ExplorerError` for what is no training, or for what a script cannot do.
    """
    record = _record(source)
    spec = _checked(record.spec, source)
    model_source, weights = _model(spec)
    start = output.with_name(f"{output.stem}_start.pt") if weights is not None else None
    names = Names(output=f"{output.stem}_weights.pt", start=start.name if start else None)
    text, beside = script_text(record, spec, model_source, names)
    _check_neighbours(output, beside, start, overwrite=overwrite)
    for name, path in beside.items():
        with files.written_by_rename(output.parent / name) as temporary:
            shutil.copyfile(path, temporary)
    if weights is not None and start is not None:
        with files.written_by_rename(start) as temporary:
            torch.save(read_state_dict(weights), temporary)
    with files.written_by_rename(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _record(source: str) -> JobRecord:
    if not source.startswith(PREFIX):
        raise ExplorerError(f"{source} does not say how it was trained", "a script can be made of a training of ours, job:ID")
    path = job_folder(source) / "spec.json"
    try:
        return JobRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ExplorerError(f"{path} cannot be read ({type(error).__name__})", "choose another training") from None


def _checked(spec: object, source: str) -> TrainSpec:
    """The spec of a training that a script can repeat."""
    if not isinstance(spec, TrainSpec):
        raise ExplorerError(f"{source} is no training", "a script can be made of a training, as `explorer jobs list` shows them")
    if spec.processes > 1 or spec.nodes > 1:
        raise ExplorerError(
            f"{source} trained in several processes, which a script does not repeat", "train it with --processes 1"
        )
    if spec.device == "xla":
        raise ExplorerError(f"{source} trained on xla, for which no script is written", "train it on another device")
    return spec


def _model(spec: TrainSpec) -> tuple[str, Path | None]:
    """The factory to build the model with, and the weights that it starts from."""
    text, weights = spec.source, spec.weights
    if text.startswith(PREFIX):
        path = resolve_file(text, [WEIGHTS])
        record = model_record(path)
        if record is None:
            raise ExplorerError(f"{text} has weights but no model.json", "train from file.py:factory")
        text, weights = record.source, weights or str(path)
    if weights is None:
        return text, None
    path = resolve_file(weights, [WEIGHTS])
    record = model_record(path)
    if record is not None and record.structure == "resized":
        raise ExplorerError(f"{weights} is smaller than its code says, as pruning left it", "no script is written for that")
    return text, path


def _check_neighbours(output: Path, beside: dict[str, Path], start: Path | None, *, overwrite: bool) -> None:
    """A file beside the script that is not the very same as ours stays, unless it may be replaced."""
    if output.name in beside:
        raise ExplorerError(f"{output.name} is a file that the script needs beside it", "give the script another name")
    if overwrite:
        return
    there = [name for name, path in beside.items() if _differs(output.parent / name, path)]
    there += [start.name] if start is not None and start.exists() else []
    if there:
        raise ExplorerError(f"{output.parent / there[0]} is there already and differs", "give another folder, or --overwrite")


def _differs(target: Path, source: Path) -> bool:
    return target.exists() and not filecmp.cmp(target, source, shallow=False)
