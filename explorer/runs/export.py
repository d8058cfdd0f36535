"""The history of a run written for other tools, or a script that repeats a training without explorer."""

from collections.abc import Callable, Mapping
from pathlib import Path

from explorer import files
from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.runs.history import read_history
from explorer.runs.write_csv import write_csv
from explorer.runs.write_events import write_events
from explorer.runs.write_jsonl import write_jsonl
from explorer.runs.write_rows import Series
from explorer.schemas.export_spec import ExportResult, ExportSpec

WRITERS: dict[str, Callable[[Mapping[str, Series], Path], None]] = {
    "tensorboard": write_events,
    "csv": write_csv,
    "jsonl": write_jsonl,
}


def run(spec: ExportSpec, report: Reporter) -> ExportResult:
    """Write `spec.output`, whole or not at all; raises when it may not be replaced, or there is nothing to write."""
    output = Path(spec.output)
    check_target(output, folder=spec.to == "tensorboard", overwrite=spec.overwrite)
    report.control()
    if spec.to == "script":
        from explorer.runs.script import write_script  # torch, which no other format needs

        write_script(spec.source, output, overwrite=spec.overwrite)
        return ExportResult(source=spec.source, to=spec.to, output=str(output), bytes=files.size_bytes(output))
    series = read_history(spec.source).series
    with files.written_by_rename(output) as temporary:
        WRITERS[spec.to](series, temporary)
    return ExportResult(
        source=spec.source,
        to=spec.to,
        output=str(output),
        bytes=files.size_bytes(output),
        steps=len({step for item in series.values() for step in item.steps.tolist()}),
        values=sum(len(item.steps) for item in series.values()),
        names=list(series),
    )


def check_target(output: Path, *, folder: bool, overwrite: bool) -> None:
    """Refuse to replace what is there unless asked to, and a folder with anything else in it whatever was asked."""
    if not (output.exists() or output.is_symlink()):
        return
    if output.is_dir() != folder:
        wanted, found = ("folder", "file") if folder else ("file", "folder")
        raise ExplorerError(f"{output} is a {found}", f"name a {wanted} that is not there yet")
    if not overwrite:
        raise ExplorerError(f"{output} is there already", "give another name, or --overwrite")
    if folder and any("tfevents" not in item.name for item in output.iterdir()):
        raise ExplorerError(f"{output} holds more than event files", "give another folder")
