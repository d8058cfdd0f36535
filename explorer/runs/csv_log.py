"""Logs with comma-separated values: Lightning's `metrics.csv`, Keras' `CSVLogger`, what scripts write."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from explorer.runs.columns import Floats
from explorer.runs.fields import is_step_like, number
from explorer.runs.row_log import RowLogReader
from explorer.runs.table import Table

DELIMITERS = (",", ";", "\t")
# Stands for an empty cell while numpy reads a block; a number that no log holds.
_EMPTY = b"-2.7182818284590e-301"
_EMPTY_VALUE = float(_EMPTY)


class CsvReader(RowLogReader):
    """Columns by the names in the first line; empty cells are no values, `nan` is one. A header within starts new columns."""

    _names: list[str] | None = None
    _delimiter = ","

    def begin(self) -> None:
        self._names = None

    def tables(self, lines: bytes) -> Iterator[Table]:
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._names is None:
            lines = self._take_header(lines)
        if lines and self._names:
            numbers = _number_block(lines, self._delimiter.encode(), len(self._names))
            if numbers is not None:
                yield _dense_table(self._names, numbers)
            else:
                yield from self._tables_of_words(lines)

    def _take_header(self, lines: bytes) -> bytes:
        """Read the names from the first line that is not empty; a first line of numbers is the first row."""
        first, _, rest = lines.lstrip(b"\n\xef\xbb\xbf").partition(b"\n")
        text = first.decode(errors="replace")
        self._delimiter = delimiter_of(text)
        cells = next(csv.reader([text], delimiter=self._delimiter), [])
        if any(number(cell) is not None for cell in cells):
            self._names = [f"column {index}" for index in range(1, len(cells) + 1)]
            return lines
        self._names = [cell.strip().lstrip("# ") for cell in cells]
        return rest

    def _tables_of_words(self, lines: bytes) -> Iterator[Table]:
        """The slow way: cell by cell, for quotes, words and rows of uneven length."""
        rows: list[list[str]] = []
        for cells in _cells(lines, self._delimiter):
            if _is_header(cells):
                yield _sparse_table(self._names or [], rows)
                self._names, rows = [cell.strip() for cell in cells], []
            elif cells:
                rows.append(cells)
        yield _sparse_table(self._names or [], rows)


def delimiter_of(header: str) -> str:
    """The sign between the names of a first line."""
    return max(DELIMITERS, key=header.count)


def _number_block(lines: bytes, delimiter: bytes, columns: int) -> Floats | None:
    """All cells at once, one row a line; None when one is no number."""
    if b'"' in lines:
        return None
    doubled, comma_end, comma_start = delimiter * 2, delimiter + b"\n", b"\n" + delimiter
    if doubled in lines or comma_end in lines or comma_start in lines or lines.startswith(delimiter):
        filled = delimiter + _EMPTY + delimiter
        lines = lines.replace(doubled, filled).replace(doubled, filled)
        lines = lines.replace(comma_end, delimiter + _EMPTY + b"\n").replace(comma_start, b"\n" + _EMPTY + delimiter)
        lines = _EMPTY + lines if lines.startswith(delimiter) else lines
    if not lines.strip():
        return np.empty((0, columns))
    try:
        block = np.loadtxt(io.BytesIO(lines), delimiter=delimiter.decode(), comments=None, ndmin=2)
    except (ValueError, UnicodeDecodeError):
        return None
    return block if block.shape[1] == columns else None


def _dense_table(names: list[str], block: Floats) -> Table:
    table = Table(len(block))
    for name, cells in zip(names, block.T, strict=True):
        empty = cells == _EMPTY_VALUE
        if not empty.any():
            table.numbers[name] = (None, np.ascontiguousarray(cells))
        elif not empty.all():
            places = np.flatnonzero(~empty)
            table.numbers[name] = (places, cells[places])
    return table


def _cells(lines: bytes, delimiter: str) -> Iterator[list[str]]:
    text = lines.decode(errors="replace").replace("\0", "")
    try:
        yield from csv.reader(text.split("\n"), delimiter=delimiter)
    except csv.Error:  # a cell beyond the module's limit; the rows before it stand
        return


def _is_header(cells: list[str]) -> bool:
    return any(map(is_step_like, cells)) and all(number(cell) is None for cell in cells)


def _sparse_table(names: list[str], rows: list[list[str]]) -> Table:
    table = Table(len(rows))
    for index, name in enumerate(names):
        places, values, texts = [], [], {}
        for row, cells in enumerate(rows):
            cell = cells[index] if index < len(cells) else ""
            if (value := number(cell)) is not None:
                places.append(row)
                values.append(value)
            elif cell:
                texts[row] = cell
        if places:
            table.numbers[name] = (None if len(places) == len(rows) else np.array(places), np.array(values))
        if texts:
            table.texts[name] = texts
    return table
