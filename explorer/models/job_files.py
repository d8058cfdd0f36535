"""What earlier jobs left: their folders, artifacts, model records and data sets."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from explorer.errors import ExplorerError
from explorer.home import jobs_folder
from explorer.schemas.jobs import JobRecord
from explorer.schemas.results import TorchModel
from explorer.schemas.specs import BenchmarkSpec

PREFIX = "job:"
MODEL_FILES = ("model.safetensors",)
CHECKPOINT = "checkpoint.pt"


def job_folder(source: str) -> Path:
    """The folder of `job:ID`, where ID is whole or a unique beginning or ending."""
    wanted = source.removeprefix(PREFIX)
    folders = sorted(path for path in jobs_folder().iterdir() if path.is_dir() and not path.name.startswith("."))
    exact = [path for path in folders if path.name == wanted]
    found = exact or [path for path in folders if wanted and (path.name.startswith(wanted) or path.name.endswith(wanted))]
    if len(found) == 1:
        return found[0]
    if found:
        raise ExplorerError(f"{source} fits {len(found)} jobs", f"give more of the ID: {found[0].name}, {found[1].name} ...")
    raise ExplorerError(f"there is no job {wanted or '(empty ID)'}", "`explorer jobs list` shows them")


def resolve_file(source: str, names: Sequence[str]) -> Path:
    """The file or folder that `source` means: a path as it stands, or the first of `names` among a job's artifacts."""
    if not source.startswith(PREFIX):
        path = Path(source).expanduser()
        if path.exists():
            return path.absolute()
        raise ExplorerError(f"{source} does not exist", "check the path")
    folder = job_folder(source)
    for name in names:
        if (folder / "artifacts" / name).exists():
            return folder / "artifacts" / name
    kept = folder / "artifacts" / CHECKPOINT
    learned = kept.is_file() and not set(names).isdisjoint(MODEL_FILES)
    otherwise = f"take the weights of its last checkpoint, {kept}" if learned else "wait until it ends"
    raise ExplorerError(f"{source} made no {' or '.join(names)}", f"name the job that did, or {otherwise}")


def trained_model(source: str) -> tuple[str, Path]:
    """The factory that builds the model of `job:ID`, and the file with the weights it ended with."""
    path = resolve_file(source, MODEL_FILES)
    record = model_record(path)
    if record is None:
        raise ExplorerError(f"{source} has weights but no model.json", "give file.py:factory as source and the job as weights")
    return record.source, path


def model_record(weights: Path) -> TorchModel | None:
    """The `model.json` that belongs to a weights file; None when there is none beside it."""
    path = weights.with_name("model.json")
    try:
        record = TorchModel.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise ExplorerError(f"{path} is damaged ({error.error_count()} wrong fields)", "run the job again") from None
    return record if record.weights == weights.name else None


def source_data(source: str | None) -> str | None:
    """The data set behind `job:ID` or a file among a job's artifacts, through the jobs it was made from; None when unknown."""
    for _ in range(20):
        folder = _folder_of(source)
        if folder is None:
            return None
        record = model_record(folder / "artifacts" / "model.safetensors")
        if record is not None and record.data is not None:
            return record.data
        job = _job_record(folder)
        if job is None:
            return None
        data: str | None = getattr(job.spec, "data", None)
        if data is not None:
            return data
        source = _parent(job)
    return None


def _parent(job: JobRecord) -> str | None:
    """The source, or the weights when the source is plain code."""
    if isinstance(job.spec, BenchmarkSpec):
        return job.spec.models[0]
    weights: str | None = getattr(job.spec, "weights", None)
    source: str = getattr(job.spec, "source", "")
    return weights if weights and not source.startswith(PREFIX) else source


def _folder_of(source: str | None) -> Path | None:
    if source is None:
        return None
    if source.startswith(PREFIX):
        return job_folder(source)
    parent = Path(source).expanduser().absolute().parent
    return parent.parent if parent.name == "artifacts" else None


def _job_record(folder: Path) -> JobRecord | None:
    try:
        return JobRecord.model_validate_json((folder / "spec.json").read_bytes())
    except (OSError, ValidationError):
        return None
