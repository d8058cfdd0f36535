"""The whole history of a run, for exports."""

from dataclasses import dataclass

from explorer.errors import ExplorerError
from explorer.runs.series import Series
from explorer.runs.sources import OpenRun, find_source
from explorer.schemas.curves import RunFormat


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Every point of a run.

    `series` holds, by metric, rising `steps` (int64), `values` and `times` (Unix seconds, NaN where unknown).
    `problem` says in one sentence what was passed over.
    """

    source: str
    name: str
    format: RunFormat
    series: dict[str, Series]
    problem: str = ""


def read_history(source: str) -> RunHistory:
    """Read `job:ID`, a log or a folder with one run, folded by step; raises `ExplorerError` when it has no values."""
    run = OpenRun(find_source(source))
    run.refresh()
    if not run.history.series:
        raise ExplorerError(run.problem, "there is nothing to read")
    return RunHistory(source, run.found.name, run.found.format, run.history.series, run.problem)
