"""A run as JSON lines: an object for each step with `step`, `time` in Unix seconds, and the metrics that it has."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from explorer.runs.write_rows import Rows, Series, column_name, rows

# JSON has no word for them; these strings are valid everywhere, and float() and Number() read them back.
NOT_FINITE = {math.inf: '"Infinity"', -math.inf: '"-Infinity"'}


def write_jsonl(series: Mapping[str, Series], path: Path) -> None:
    """Write a line for each step. NaN and infinities are the strings "NaN", "Infinity" and "-Infinity"."""
    with path.open("w", encoding="utf-8") as stream:
        for block in rows(series):
            stream.writelines(_lines(block))


def _lines(block: Rows) -> list[str]:
    heads = zip(block.steps.tolist(), block.times.tolist(), strict=True)
    parts = [[f'{{"step":{step}'] if time != time else [f'{{"step":{step},"time":{time!r}'] for step, time in heads]
    for name, (places, values) in block.columns.items():
        key = json.dumps(column_name(name))
        for place, value in zip(places.tolist(), values.tolist(), strict=True):
            parts[place].append(f"{key}:{number(value)}")
    return [",".join(part) + "}\n" for part in parts]


def number(value: float) -> str:
    """A float as JSON."""
    if math.isfinite(value):
        return repr(value)
    return NOT_FINITE.get(value, '"NaN"')
