"""`trainer_state.json` of Hugging Face's Trainer: the whole `log_history`, written again with each checkpoint."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from explorer.runs.axis import RowAxis
from explorer.runs.columns import Batch
from explorer.runs.json_log import table_of
from explorer.runs.table import batch_of

FILE_NAME = "trainer_state.json"
# One moment for the whole run, or the whole run in one number: nothing to draw over steps.
_TOTALS = ("total_flos", "train_runtime", "train_samples_per_second", "train_steps_per_second")


class TrainerStateReader:
    """The history in the newest `trainer_state.json`: of a file, or of an output folder with its `checkpoint-*` folders."""

    problem = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: list[str] = []
        self._stamp: tuple[str, int, int] | None = None

    def read(self) -> Iterator[Batch]:
        """What was logged since the last read; a history that does not begin like the last one begins the run again."""
        newest = newest_state(self.path) if self.path.is_dir() else self.path
        records = self._changed(newest) if newest is not None else None
        if records is None:
            return
        lines = [json.dumps(record, sort_keys=True) for record in records]
        known = len(self._seen)
        if lines[:known] != self._seen:
            known = 0
            yield Batch(restarted=True)
        self._seen = lines
        if new := [_without_totals(record) for record in records[known:]]:
            yield batch_of(table_of(new), RowAxis(step_name="step"))

    def _changed(self, path: Path) -> list[dict[str, Any]] | None:
        """The records of a file that changed; None when it did not, or is half written."""
        try:
            status = path.stat()
            stamp = (str(path), status.st_mtime_ns, status.st_size)
            if stamp == self._stamp:
                return None
            records = log_history(path.read_bytes())
        except OSError:
            return None
        if records is not None:
            self._stamp = stamp
        return records


def log_history(content: bytes) -> list[dict[str, Any]] | None:
    """The records in a trainer's state; None when it is none."""
    try:
        state = from_json(content)
    except ValueError:
        return None
    history = state.get("log_history") if isinstance(state, dict) else None
    return [record for record in history if isinstance(record, dict)] if isinstance(history, list) else None


def newest_state(folder: Path) -> Path | None:
    """The state that was written last in an output folder; checkpoints hold earlier parts of the same history."""
    found = [path for path in (folder / FILE_NAME, *folder.glob(f"checkpoint-*/{FILE_NAME}")) if path.is_file()]
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.parent == folder), default=None)


def _without_totals(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _TOTALS}
