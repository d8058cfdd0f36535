"""`events.jsonl` of our own jobs. A job that was resumed says the steps behind its checkpoint again; the later values count."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from explorer.runs.columns import Batch, Column, Floats, column
from explorer.runs.growing_file import GrowingFile, whole_lines
from explorer.runs.json_log import json_objects
from explorer.runs.row_log import CHUNK_BYTES

FILE_NAME = "events.jsonl"
# Where the kind of an event stands; longer before it is not an event.
_KIND_WITHIN_BYTES = 160


class JobLogReader:
    """Metrics of a job's folder. Steps of one event share its time, so theirs are spread since the event before."""

    problem = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = GrowingFile(path / FILE_NAME if path.is_dir() else path)
        self._resumed = False
        self._last_time = float("nan")

    def read(self) -> Iterator[Batch]:
        """What is new."""
        if not self._file.look():
            return
        if self._file.replaced():
            self._resumed, self._last_time = False, float("nan")
            yield Batch(restarted=True)
        while lines := whole_lines(self._file, CHUNK_BYTES):
            yield from self._batches(json_objects([line for line in lines.split(b"\n") if _matters(line)]))

    def _batches(self, events: list[dict[str, Any]]) -> Iterator[Batch]:
        """One batch between two starts of the worker; what lies beyond the first step after a start is void."""
        columns: dict[str, _Growing] = {}
        cut: int | None = None
        for event in events:
            if event.get("kind") == "state" and event.get("state") == "running":
                self._resumed = True
                self._last_time = _time_of(event)
            elif event.get("kind") == "metric" and (steps := _steps(event)):
                if self._resumed:
                    yield Batch({name: growing.column() for name, growing in columns.items()}, cut)
                    columns, cut, self._resumed = {}, steps[0], False
                self._take(event, steps, columns)
        yield Batch({name: growing.column() for name, growing in columns.items()}, cut)

    def _take(self, event: dict[str, Any], steps: list[int], columns: "dict[str, _Growing]") -> None:
        time = _time_of(event)
        for name, values in event["values"].items():
            if isinstance(values, list) and len(values) == len(steps):
                columns.setdefault(name, _Growing()).add(steps, values, self._last_time, time)
        self._last_time = time


class _Growing:
    """One metric of a batch as plain lists, which are faster to extend than arrays."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[Any] = []
        self._spans: list[tuple[float, float, int]] = []

    def add(self, steps: list[int], values: list[Any], before: float, time: float) -> None:
        self._steps += steps
        self._values += values
        self._spans.append((before, time, len(steps)))

    def column(self) -> Column:
        try:
            values = np.array(self._values, np.float64)  # "NaN" and "Infinity" come as words
            return column(np.array(self._steps, np.int64), values, self._times())
        except (ValueError, TypeError, OverflowError):
            return column([], [], [])

    def _times(self) -> Floats:
        before, time, counts = np.array(self._spans).T
        before = np.where(np.isfinite(before), np.minimum(before, time), time)
        sizes = counts.astype(np.int64)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        return np.asarray(np.repeat(before, sizes) + np.repeat((time - before) / counts, sizes) * place)


def _matters(line: bytes) -> bool:
    head = line[:_KIND_WITHIN_BYTES]
    return b'"kind":"metric"' in head or b'"kind":"state"' in head


def _steps(event: dict[str, Any]) -> list[int]:
    steps = event.get("steps")
    whole = isinstance(steps, list) and isinstance(event.get("values"), dict) and {*map(type, steps)} == {int}
    return steps if whole and isinstance(steps, list) else []


def _time_of(event: dict[str, Any]) -> float:
    time = event.get("time")
    return float(time) if isinstance(time, int | float) else float("nan")
