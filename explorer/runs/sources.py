"""From the text that names a run to its reader and its points."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from explorer import home
from explorer.errors import ExplorerError
from explorer.runs.columns import Batch
from explorer.runs.csv_log import CsvReader
from explorer.runs.find import Found, the_run
from explorer.runs.job_log import JobLogReader
from explorer.runs.json_log import JsonLinesReader
from explorer.runs.series import History
from explorer.runs.tfevents import TfeventsReader
from explorer.runs.trainer_state import TrainerStateReader
from explorer.schemas.curves import RunFormat

JOB = "job:"


class RunReader(Protocol):
    """Reads one run from where it stopped; `problem` says in a sentence what it passed over."""

    @property
    def problem(self) -> str: ...
    def read(self) -> Iterator[Batch]: ...


class OpenRun:
    """A run with all its points in memory, brought up to date when asked."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.history = History()
        self._reader = _reader_of(found)

    @property
    def problem(self) -> str:
        if self._reader.problem:
            return self._reader.problem
        return "" if self.history.series else f"{self.found.name} has no values yet"

    def refresh(self) -> None:
        """Take in what was logged since."""
        for batch in self._reader.read():
            self.history.add(batch)


def find_source(source: str) -> Found:
    """The run that `job:ID`, a file or a folder names; raises `ExplorerError` when there is none."""
    if source.startswith(JOB):
        folder = job_folder(source.removeprefix(JOB))
        return Found(folder, folder.name, "job")
    return the_run(Path(source).expanduser())


def job_folder(text: str) -> Path:
    """The folder of the job whose ID is `text`, or begins or ends with it."""
    root = home.jobs_folder()
    if text and "/" not in text and (root / text / "spec.json").exists():
        return root / text
    jobs = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = [path for path in jobs if text and (path.name.startswith(text) or path.name.endswith(text))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ExplorerError(f"there is no job {text!r}", "`explorer jobs list` shows them")
    raise ExplorerError(f"{len(found)} jobs match {text!r}", f"say more of the ID, such as {found[0].name}")


def _reader_of(found: Found) -> RunReader:
    makers: dict[RunFormat, type[RunReader]] = {
        "job": JobLogReader,
        "tfevents": TfeventsReader,
        "csv": CsvReader,
        "jsonl": JsonLinesReader,
        "trainer_state": TrainerStateReader,
    }
    return makers[found.format](found.path)  # type: ignore[call-arg]
