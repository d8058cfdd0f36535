"""Which files are logs of a training, by their first bytes."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from explorer.runs import job_log, trainer_state
from explorer.runs.csv_log import delimiter_of
from explorer.runs.fields import TELLING_NAMES, flattened, number
from explorer.runs.tfevents import is_event_file
from explorer.schemas.curves import RunFormat

HEAD_BYTES = 65_536
_CSV_ENDINGS = frozenset({".csv", ".tsv", ".log"})
_JSON_ENDINGS = frozenset({".jsonl", ".ndjson", ".json", ".log"})


def format_of(path: Path, *, named: bool) -> RunFormat | None:
    """The format of a log; None for any other file. One that a person `named` need not say which number counts its steps."""
    if is_event_file(path.name):
        return "tfevents"
    if path.name == trainer_state.FILE_NAME:
        return "trainer_state"
    if path.name == job_log.FILE_NAME and is_job_folder(path.parent):
        return "job"
    ending = path.suffix.lower()
    if not named and ending not in _CSV_ENDINGS | _JSON_ENDINGS:
        return None
    head = _head(path)
    if (named or ending in _JSON_ENDINGS) and _is_json_log(head, named=named):
        return "jsonl"
    if (named or ending in _CSV_ENDINGS) and _is_csv_log(head, named=named):
        return "csv"
    return None


def is_job_folder(folder: Path) -> bool:
    return (folder / "spec.json").is_file() and ((folder / job_log.FILE_NAME).is_file() or (folder / "artifacts").is_dir())


def has_metrics(folder: Path) -> bool:
    """Whether a job said any metric near its start, as trainings do."""
    return b'"kind":"metric"' in _head(folder / job_log.FILE_NAME)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(HEAD_BYTES)
    except OSError:
        return b""


def _is_json_log(head: bytes, *, named: bool) -> bool:
    """Whether one of the first lines is an object with a number, and with one that counts steps."""
    lines = [line for line in head.split(b"\n")[:-1][:32] if line.strip()]
    records = [flattened(found) for line in lines if isinstance(found := _json_or_none(line), dict)]
    return any(
        any(type(value) in (int, float) for value in record.values())
        and (named or any(name.lower() in TELLING_NAMES for name in record))
        for record in records
    )


def _is_csv_log(head: bytes, *, named: bool) -> bool:
    """Whether the first line names columns, one of which counts steps; without names, whether it holds numbers."""
    first, newline, rest = head.lstrip(b"\n\xef\xbb\xbf").partition(b"\n")
    if not newline or b"\0" in head:
        return False
    text = first.decode(errors="replace").strip()
    cells = [cell.strip().lstrip("# ").lower() for cell in next(_rows(text), [])]
    if not named:
        return len(cells) > 1 and any(cell in TELLING_NAMES for cell in cells) and all(number(cell) is None for cell in cells)
    second: list[str] = next(_rows(rest.partition(b"\n")[0].decode(errors="replace").strip(), delimiter_of(text)), [])
    return any(number(cell) is not None for cell in [*cells, *second])


def _rows(line: str, delimiter: str | None = None) -> Iterator[list[str]]:
    return csv.reader([line] if line else [], delimiter=delimiter or delimiter_of(line))


def _json_or_none(line: bytes) -> Any:
    try:
        return from_json(line)
    except ValueError:
        return None
