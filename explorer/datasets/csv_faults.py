"""What is wrong with a CSV file, by line and column: looked for only once the fast reader has refused it."""

import csv
from pathlib import Path
from typing import Protocol, TextIO

from explorer.errors import ExplorerError

MISSING = frozenset({"", "na", "n/a", "null", "none", "?", "-"})


class Columns(Protocol):
    """The part of a layout that faults are told from."""

    @property
    def delimiter(self) -> str: ...
    @property
    def header(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def target(self) -> int: ...


def is_number(cell: str) -> bool:
    """Whether the reader takes the cell for a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()


def first_fault(stream: TextIO, path: Path, layout: Columns, *, text: bool) -> ExplorerError | None:
    """The first row or cell that cannot be read, as a sentence; `text` says that the target holds names."""
    reader = csv.reader(stream, delimiter=layout.delimiter)
    header = layout.header
    for row in reader:
        if header or not row:
            header = header and not row
            continue
        where = f"{path}, line {reader.line_num}"
        if len(row) != len(layout.columns):
            return ExplorerError(
                f"{where}: {len(row)} columns, not {len(layout.columns)} as before",
                "mend that row, or quote text that holds commas",
            )
        for position, cell in enumerate(row):
            if not is_number(cell) and not (text and position == layout.target):
                return _cell_fault(where, layout, position, cell)
    return None


def _cell_fault(where: str, layout: Columns, position: int, cell: str) -> ExplorerError:
    name = layout.columns[position]
    column = f"column {name}" if layout.header else f"column {position + 1}"
    if cell.strip().lower() in MISSING:
        said = f"the cell is missing ({cell.strip()!r})" if cell.strip() else "the cell is empty"
        return ExplorerError(f"{where}, {column}: {said}", "fill it, or remove the row")
    if position == layout.target:
        remedy = "correct it; class names all through the column are fine, and so is target= with another column"
    else:
        remedy = "leave the column out or turn it into numbers; only the target may be text"
    return ExplorerError(f"{where}, {column}: {cell.strip()[:40]!r} is no number", remedy)
