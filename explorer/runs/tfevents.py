"""TensorBoard's event files of one folder, which are one run, written by any of its writers."""

import time
from collections.abc import Iterator
from pathlib import Path

from explorer.runs.columns import Batch
from explorer.runs.growing_file import CHUNK_BYTES, GrowingFile
from explorer.runs.tfevents_decode import batches, decode
from explorer.runs.tfevents_records import split_records

MARK = "tfevents"
SETTLED_NS = 10**9


class TfeventsReader:
    """Scalars of the event files in a folder, oldest first, or of one event file; `problem` says what was passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._files: list[_EventFile] = []
        self._stamp: int | None = None

    def read(self) -> Iterator[Batch]:
        """What is new. A file that is gone or was replaced begins the run again."""
        restarted = self._find_files()
        looks = [file.look() for file in self._files]
        replaced = [file.replaced() for file, changed in zip(self._files, looks, strict=True) if changed]
        if restarted or any(replaced):
            for file in self._files:
                file.rewind()
            looks = [True] * len(looks)
            yield Batch(restarted=True)
        for file, changed in zip(self._files, looks, strict=True):
            if changed:
                yield from file.batches()
        self.problem = next((file.problem for file in self._files if file.problem), "")

    def _find_files(self) -> bool:
        """List the folder when it changed; True when a file that was read is gone."""
        folder = self.path.is_dir()
        try:
            changed_ns = self.path.stat().st_mtime_ns if folder else 0
        except OSError:
            return False
        if changed_ns == self._stamp:
            return False
        # A folder that changed just now may change again within the same tick of its clock.
        self._stamp = changed_ns if time.time_ns() - changed_ns > SETTLED_NS else None
        paths = event_files(self.path) if folder else [self.path]
        known = {file.path: file for file in self._files}
        self._files = [known.get(path) or _EventFile(path) for path in paths]
        return not known.keys() <= set(paths)


def event_files(folder: Path) -> list[Path]:
    """The event files of a folder, oldest first by the Unix seconds in their names."""
    try:
        found = [path for path in folder.iterdir() if is_event_file(path.name) and path.is_file()]
    except OSError:
        return []
    return sorted(found, key=lambda path: (_seconds_in(path.name), path.name))


def is_event_file(name: str) -> bool:
    """Whether a name is an event file's, such as `events.out.tfevents.1700000000.host.123.0`."""
    return MARK in name and not name.startswith(".") and not name.endswith((".profile-empty", ".gz", ".zip"))


def _seconds_in(name: str) -> int:
    digits = name.partition(f"{MARK}.")[2].partition(".")[0]
    return int(digits) if digits.isdecimal() and digits.isascii() else 0


class _EventFile(GrowingFile):
    """One event file; a record that is not whole yet is read again later."""

    problem = ""
    _damaged = 0

    def rewind(self) -> None:
        super().rewind()
        self.problem, self._damaged = "", 0

    def batches(self) -> Iterator[Batch]:
        while data := self.read():
            records = split_records(data)
            found = decode(data, records)
            self._damaged += found.damaged
            yield from batches(found)
            if not self._step_on(len(data), records.end, records.needed_bytes, damaged=records.damaged):
                break
        if self._damaged:
            self.problem = self.problem or f"{self._damaged} damaged records of {self.path.name} were passed over"

    def _step_on(self, count: int, end: int, needed_bytes: int, *, damaged: bool) -> bool:
        """Go to where the next record starts; False when there is nothing whole there."""
        self.give_back(count - end)
        self.problem = f"{self.path.name} is damaged at byte {self.offset}; what follows is passed over" if damaged else ""
        if damaged or (end == 0 and needed_bytes <= CHUNK_BYTES):
            return False
        if needed_bytes > CHUNK_BYTES:  # an image or a sound, for no scalar is that long
            if self.offset + needed_bytes > self.size:
                return False
            self.offset += needed_bytes
        return True
