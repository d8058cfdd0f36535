"""Logs with one JSON object a line, as any trainer may write them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pydantic_core import from_json

from explorer.runs.fields import flattened, number
from explorer.runs.row_log import RowLogReader
from explorer.runs.table import Table

_NESTED = (dict, list)


class JsonLinesReader(RowLogReader):
    """Keys are metrics, nested ones joined by slashes; `NaN` and `Infinity` are numbers, null and lists are passed over."""

    def tables(self, lines: bytes) -> Iterator[Table]:
        yield table_of(json_objects(lines.split(b"\n")))


def json_objects(lines: list[bytes]) -> list[dict[str, Any]]:
    """The objects among lines; what is none is passed over. All are read at once, and one by one when that fails."""
    kept = [line for line in lines if line.strip()]
    try:
        found = from_json(b"[" + b",".join(kept) + b"]", cache_strings="keys")
    except ValueError:
        found = [_value_or_none(line) for line in kept]
    return [item for item in found if isinstance(item, dict)]


def table_of(records: Sequence[dict[str, Any]]) -> Table:
    """One row a record."""
    table = Table(len(records))
    if not records:
        return table
    names = records[0].keys()
    if all(record.keys() == names for record in records) and not any(isinstance(v, _NESTED) for v in records[0].values()):
        for name in names:
            _add(table, name, None, [record[name] for record in records])
        return table
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    for row, record in enumerate(records):
        for name, value in flattened(record).items():
            places, values = columns.setdefault(name, ([], []))
            places.append(row)
            values.append(value)
    for name, (places, values) in columns.items():
        _add(table, name, places, values)
    return table


def _add(table: Table, name: str, places: list[int] | None, values: list[Any]) -> None:
    """Add a column, at once when all its values are numbers."""
    rows = None if places is None or len(places) == table.count else np.array(places)
    if type(values[0]) in (int, float) and {*map(type, values)} <= {int, float}:
        try:
            table.numbers[name] = (rows, np.array(values, np.float64))
            return
        except OverflowError:
            pass
    _add_mixed(table, name, range(table.count) if places is None else places, values)


def _add_mixed(table: Table, name: str, places: Sequence[int], values: list[Any]) -> None:
    rows, numbers, texts = [], [], {}
    for row, value in zip(places, values, strict=True):
        plain = _plain_number(value)
        if plain is not None:
            rows.append(row)
            numbers.append(plain)
        elif isinstance(value, str) and value:
            texts[row] = value
    if rows:
        table.numbers[name] = (np.array(rows), np.array(numbers))
    if texts:
        table.texts[name] = texts


def _plain_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return number(value)
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _value_or_none(line: bytes) -> Any:
    try:
        return from_json(line, cache_strings="keys")
    except ValueError:
        return None
