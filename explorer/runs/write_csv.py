"""A run as CSV (RFC 4180): `step`, `time` in Unix seconds, then a column for each metric."""

import csv
from collections.abc import Mapping
from pathlib import Path

from explorer.runs.write_rows import STEP, TIME, Rows, Series, column_name, rows


def write_csv(series: Mapping[str, Series], path: Path) -> None:
    """Write a row for each step. An empty cell is no value; NaN and infinities are `nan`, `inf` and `-inf`, as pandas has it."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow([STEP, TIME, *map(column_name, series)])
        for block in rows(series):
            table.writerows(zip(block.steps.tolist(), _times(block), *_cells(block), strict=True))


def _times(block: Rows) -> list[str]:
    return ["" if seconds != seconds else repr(seconds) for seconds in block.times.tolist()]


def _cells(block: Rows) -> list[list[str]]:
    columns = []
    for places, values in block.columns.values():
        cells = [""] * len(block.steps)
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            cells[place] = repr(value)
        columns.append(cells)
    return columns
