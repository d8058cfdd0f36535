"""Samples from a CSV file: a row each, one column to predict. Delimiter and header are found from the first rows."""

import csv
import gzip
import io
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from explorer.datasets.csv_faults import first_fault, is_number
from explorer.datasets.csv_targets import CodedText, table
from explorer.datasets.dataset import Array, Parts
from explorer.datasets.memory import check_room
from explorer.datasets.options import task, validation_share
from explorer.datasets.split import split
from explorer.errors import ExplorerError
from explorer.schemas.data_source import DataSource

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
DELIMITERS = ",;\t|"
SNIFFED_ROWS = 100
SNIFFED_CHARACTERS = 1 << 20
# A gzipped table of numbers grows to about this many times its size.
GZIP_GROWTH = 6
BROKEN = (OSError, EOFError, UnicodeError, zlib.error, csv.Error)


@dataclass(frozen=True)
class Layout:
    """What the first rows tell: `columns` are the header's names, or numbers from 0; `target` is a position in them."""

    delimiter: str
    header: bool
    columns: list[str]
    target: int
    target_is_text: bool


def read_csv(path: Path, source: DataSource) -> Parts:
    """Samples of the file, float32 (N, columns - 1), with `validation` of them held out.

    Raises `ExplorerError` naming line and column of the first cell that is no number, is missing or one too many.
    """
    # Text of a float32 number takes about eight characters, and a copy of it is made in splitting.
    check_room(path.stat().st_size * (GZIP_GROWTH if path.suffix == ".gz" else 1), str(path), "use fewer rows")
    try:
        layout = layout_of(path, source)
        rows, names = _numbers(path, layout, text=layout.target_is_text)
    except BROKEN as error:
        raise ExplorerError(f"{path} cannot be read as CSV ({_reason(error)})", "save it as UTF-8 text, gzipped or not") from None
    return split(table(str(path), rows, layout.target, names, task(source)), validation_share(source))


def _numbers(path: Path, layout: Layout, *, text: bool) -> tuple[Array, list[str]]:
    """All rows as float32, with the target's text coded by its place among the names that are given with them."""
    coded = CodedText()
    options: dict[str, Any] = {"converters": {layout.target: coded}} if text else {}
    try:
        with _opened(path) as stream, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "loadtxt: input contained no data", UserWarning)
            rows = np.loadtxt(
                stream,
                dtype=np.float32,
                delimiter=layout.delimiter,
                skiprows=int(layout.header),
                comments=None,
                quotechar='"',
                ndmin=2,
                **options,
            )
    except ValueError as error:
        raise _fault(path, layout, text, _reason(error)) from None
    if not rows.size:
        raise ExplorerError(f"{path} has no rows of samples", "add some")
    if rows.shape[1] != len(layout.columns):
        raise _fault(path, layout, text, "rows are not as long as the header")
    return rows, coded.names


def _fault(path: Path, layout: Layout, text: bool, reason: str) -> ExplorerError:
    with _opened(path) as stream:
        fault = first_fault(stream, path, layout, text=text)
    return fault or ExplorerError(f"{path} cannot be read as CSV ({reason})", "mend that row")


def layout_of(path: Path, source: DataSource) -> Layout:
    rows, delimiter = _first_rows(path)
    if not rows:
        raise ExplorerError(f"{path} is empty", "add rows of samples")
    width = len(rows[0])
    if width < 2:
        raise ExplorerError(f"{path} has one column", "it takes one to predict, and at least one to predict it from")
    wanted = source.options.get("target")
    header = wanted in rows[0] if wanted and not is_number(wanted) else False
    header = header or not all(is_number(cell) or not cell.strip() for cell in _without(rows[0], _position(wanted, width)))
    columns = [cell.strip() for cell in rows[0]] if header else [str(number) for number in range(width)]
    target = _target(wanted, columns, path)
    cells = [row[target] for row in rows[header:] if len(row) == width]
    return Layout(delimiter, header, columns, target, any(cell.strip() and not is_number(cell) for cell in cells))


def _first_rows(path: Path) -> tuple[list[list[str]], str]:
    """Some rows from the start that are not empty, and the delimiter that the first holds most often."""
    with _opened(path) as stream:
        text = stream.read(SNIFFED_CHARACTERS)
    if "\0" in text:
        raise ExplorerError(f"{path} holds zero bytes, so it is no text", "save it as UTF-8 text")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    for row in reader:
        if row:
            rows.append(row)
        if len(rows) == SNIFFED_ROWS:
            break
    return rows, delimiter


def _position(wanted: str | None, width: int) -> int:
    """The target's place where it is given by number, else the last."""
    try:
        return int(wanted or -1) % width
    except ValueError:
        return width - 1


def _without(row: list[str], position: int) -> list[str]:
    return row[:position] + row[position + 1 :]


def _target(wanted: str | None, columns: list[str], path: Path) -> int:
    """The position of the target: a column's name, or a number from 0 (-1 is the last)."""
    if wanted is None:
        return len(columns) - 1
    if wanted in columns:
        return columns.index(wanted)
    try:
        number = int(wanted)
    except ValueError:
        number = len(columns)
    if -len(columns) <= number < len(columns):
        return number % len(columns)
    shown = ", ".join(columns[:20]) + (", ..." if len(columns) > 20 else "")
    raise ExplorerError(f"{path} has no column {wanted!r}", f"target= is one of {shown}")


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    else:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield stream


def _reason(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
