"""Every run below a folder, whoever logged it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.runs import job_log, trainer_state
from explorer.runs.recognise import format_of, has_metrics, is_job_folder
from explorer.runs.tfevents import is_event_file
from explorer.schemas.curves import RunFormat

MOST_RUNS = 1000
MOST_FOLDERS = 20_000
DEEPEST = 16
_CHECKPOINT = "checkpoint-"
_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Found:
    """A run: the folder or file to read, what people call it, and how it is written."""

    path: Path
    name: str
    format: RunFormat


class Finder:
    """Looks for runs again and again, remembering which files are none. `problem` says what kept it from finding all."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.problem = ""
        self._met_wandb = False
        self._formats: dict[str, tuple[tuple[int, int], RunFormat | None]] = {}

    def find(self) -> list[Found]:
        """Runs at or below the root, by name; a file that is named is looked at more kindly than one that is met."""
        self.problem, self._met_wandb = "", False
        if self.root.is_file():
            return self._named_file()
        found = sorted(self._walk(), key=lambda run: _natural(run.name))
        if not found and not self.problem:
            none = f"{self.root} has no run yet: no event file, CSV, JSON-lines log or trainer_state.json"
            self.problem = _WANDB if self._met_wandb else none
        return found

    def find_here(self) -> Found | None:
        """The run that the root itself is, whatever lies below."""
        return next((run for run in self._runs_in(self.root, _entries(self.root)) if run.path == self.root), None)

    def _named_file(self) -> list[Found]:
        path, found = self.root, format_of(self.root, named=True)
        if found is None:
            self.problem = _WANDB if path.suffix == ".wandb" else f"{path} is no log that can be read"
            return []
        return [Found(path.parent, path.parent.name, "job") if found == "job" else Found(path, path.name, found)]

    def _walk(self) -> Iterator[Found]:
        """Folder by folder; links are followed, each folder is seen once, hidden ones are passed over."""
        seen: set[tuple[int, int]] = set()
        runs, waiting = 0, [(self.root, 0)]
        while waiting:
            folder, depth = waiting.pop()
            status = _status(folder)
            if status is None or (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            entries = _entries(folder)
            for run in self._runs_in(folder, entries):
                yield run
                runs += 1
            if runs >= MOST_RUNS or len(seen) >= MOST_FOLDERS:
                self.problem = f"{self.root} holds more than {MOST_RUNS} runs or {MOST_FOLDERS} folders; not all were looked at"
                return
            if depth < DEEPEST and not is_job_folder(folder):
                waiting += [(Path(entry.path), depth + 1) for entry in entries if _is_dir(entry)]

    def _runs_in(self, folder: Path, entries: list[os.DirEntry[str]]) -> Iterator[Found]:
        names = {entry.name for entry in entries}
        self._met_wandb |= any(name.endswith(".wandb") for name in names)
        if "spec.json" in names and is_job_folder(folder):
            if has_metrics(folder) or folder == self.root:
                yield self._found(folder, "job")
            return
        if any(is_event_file(name) for name in names):
            yield self._found(folder, "tfevents")
        elif not folder.name.startswith(_CHECKPOINT) and _has_state(folder, names):
            yield self._found(folder, "trainer_state")
        for entry in entries:
            if not is_event_file(entry.name) and entry.name not in (trainer_state.FILE_NAME, job_log.FILE_NAME):
                found = self._format(entry)
                if found is not None:
                    yield self._found(Path(entry.path), found)

    def _found(self, path: Path, run_format: RunFormat) -> Found:
        name = path.relative_to(self.root).as_posix() if path != self.root else self.root.name or str(self.root)
        return Found(path, name, run_format)

    def _format(self, entry: os.DirEntry[str]) -> RunFormat | None:
        """The format of a file, looked at again only while it is none and changes."""
        if not entry.name.lower().endswith((".csv", ".tsv", ".log", ".json", ".jsonl", ".ndjson")):
            return None
        try:
            status = entry.stat()
            if not entry.is_file():
                return None
        except OSError:
            return None
        stamp = (status.st_size, status.st_mtime_ns)
        known_stamp, known = self._formats.get(entry.path, (None, None))
        if known is None and stamp != known_stamp:
            known = format_of(Path(entry.path), named=False)
            self._formats[entry.path] = stamp, known
        return known


def the_run(path: Path) -> Found:
    """The one run that a path names; raises `ExplorerError` for none or several."""
    if not path.exists():
        raise ExplorerError(f"{path} does not exist", "name a log or a folder with logs")
    finder = Finder(path)
    if (here := finder.find_here()) is not None:
        return here
    runs = finder.find()
    if len(runs) == 1:
        return runs[0]
    if not runs:
        raise ExplorerError(finder.problem, "name a folder with event files, a CSV, a JSON-lines log or trainer_state.json")
    names = ", ".join(run.name for run in runs[:3]) + (" ..." if len(runs) > 3 else "")
    raise ExplorerError(f"{path} holds {len(runs)} runs: {names}", "name one of them")


_WANDB = "wandb's own .wandb files cannot be read: log with sync_tensorboard=True, or export the run's history as CSV"


def _has_state(folder: Path, names: set[str]) -> bool:
    if trainer_state.FILE_NAME in names:
        return True
    return any((folder / name / trainer_state.FILE_NAME).is_file() for name in names if name.startswith(_CHECKPOINT))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry in found if _can_be_named(entry.name)), key=lambda entry: entry.name)
    except OSError:
        return []


def _can_be_named(name: str) -> bool:
    """Neither hidden nor with bytes that are no text, which no message could carry."""
    return not name.startswith(".") and not any("\ud800" <= sign <= "\udfff" for sign in name)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and entry.name != "__pycache__"
    except OSError:
        return False


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which version_10 comes after version_9."""
    return [(int(part), "") if part[:1] in _DIGITS else (-1, part) for part in re.split("([0-9]+)", name) if part]
