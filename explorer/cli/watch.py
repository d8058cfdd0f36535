"""`explorer watch PATH`: what any trainer logs at or below a path, on the screens, as lines, or once as a table."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.cli import screens
from explorer.cli.table import table
from explorer.engine.client import Engine, connect
from explorer.errors import ExplorerError
from explorer.schemas.curves import CurvesQuery, RunCurves, RunNews

if TYPE_CHECKING:
    from explorer.runs.find import Found

RUNS_AT_ONCE = 8
FIRST_METRICS = ("loss", "train_loss", "val_loss", "val_accuracy", "lr")
MOST_COLUMNS = 5
# A table shows last values, for which the fewest points do.
FEWEST_POINTS = 8
REMEDY = "name a folder with event files, CSV or JSON-lines logs, a trainer_state.json or our jobs"


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="explorer watch",
        description="Follow what any trainer logs at or below a path: TensorBoard events, CSV, JSON lines, trainer_state.json.",
    )
    parser.add_argument("path", help="a log, or a folder with any number of runs below it")
    parser.add_argument("--once", action="store_true", help="say what is there now and end")
    parser.add_argument("--json", action="store_true", help="a JSON line for each change; with --once one object")
    parser.add_argument("--metric", nargs="+", default=[], metavar="NAME", help="these metrics only")
    options = parser.parse_args(words[1:])
    path = Path(options.path).expanduser().absolute()
    if not path.exists():
        raise ExplorerError(f"{path} does not exist", "check the path")
    if screens.on_terminal() and not (options.once or options.json or options.metric):
        return screens.show(watch=str(path))
    if options.once:
        return asyncio.run(_once(path, options.metric, as_json=options.json))
    return asyncio.run(_follow(path, options.metric, as_json=options.json))


async def _once(path: Path, metrics: list[str], *, as_json: bool) -> int:
    from explorer.runs.find import Finder

    finder = Finder(path)
    found = finder.find()
    if not found:
        raise ExplorerError(finder.problem, REMEDY)
    engine = await connect()
    try:
        runs = await _curves(engine, found, metrics, CurvesQuery.model_fields["points"].default if as_json else FEWEST_POINTS)
    finally:
        await engine.aclose()
    if as_json:
        print(json.dumps({"path": str(path), "runs": [run.model_dump(mode="json") for run in runs]}))
    else:
        print("\n".join(run_lines(runs, metrics)))
    return 0


async def _curves(engine: Engine, found: "Sequence[Found]", metrics: list[str], points: int) -> list[RunCurves]:
    runs: list[RunCurves] = []
    rest = iter(found)
    while some := list(islice(rest, RUNS_AT_ONCE)):
        answer = await engine.curves(CurvesQuery(sources=[str(item.path) for item in some], names=metrics, points=points))
        runs += [run.model_copy(update={"name": item.name}) for run, item in zip(answer.runs, some, strict=True)]
    return runs


async def _follow(path: Path, metrics: list[str], *, as_json: bool) -> int:
    """Print news until interrupted."""
    engine = await connect()
    first = True
    try:
        async for news in engine.watch_runs(str(path)):
            if first and news.run.format is None:
                raise ExplorerError(news.run.problem, REMEDY)
            first = False
            if (shown := chosen(news, metrics)) is not None:
                print(shown.model_dump_json() if as_json else news_line(shown), flush=True)
    finally:
        await engine.aclose()
    return 0


def chosen(news: RunNews, metrics: list[str]) -> RunNews | None:
    """The news of these metrics (none named: of all); None when there is nothing in it."""
    if not metrics:
        return news
    curves = [curve for curve in news.run.curves if curve.name in metrics]
    if not curves and not (news.gone or news.restarted or news.run.problem):
        return None
    return news.model_copy(update={"run": news.run.model_copy(update={"curves": curves})})


def news_line(news: RunNews) -> str:
    """News in one line: the run, its step, the newest values."""
    run = news.run
    words = [run.name, *([f"step {run.last_step:,}"] if run.last_step is not None else [])]
    words += [f"{curve.name} {_value(curve.last)}" for curve in run.curves]
    words += ["begun again"] if news.restarted else []
    words += ["gone"] if news.gone else []
    return "  ".join([*words, *([run.problem] if run.problem else [])])


def run_lines(runs: list[RunCurves], metrics: list[str]) -> list[str]:
    """A table with a row a run; what could not be read stands below."""
    names = metrics or _common_names(runs)
    rows = [["run", "format", "step", *names], *(_row(run, names) for run in runs)]
    problems = [f"{run.name}: {run.problem}" for run in runs if run.problem]
    return table(rows, right=range(2, len(rows[0]))) + problems


def _row(run: RunCurves, names: list[str]) -> list[str]:
    values: dict[str, Any] = {curve.name: curve.last for curve in run.curves}
    step = "–" if run.last_step is None else f"{run.last_step:,}"
    return [run.name, run.format or "–", step, *(_value(values.get(name)) for name in names)]


def _common_names(runs: list[RunCurves]) -> list[str]:
    """The metrics that say most, a few of them: well-known names first, then those that most runs have."""
    counts: dict[str, int] = {}
    for run in runs:
        for curve in run.curves:
            counts[curve.name] = counts.get(curve.name, 0) + 1
    known = [name for name in FIRST_METRICS if name in counts]
    others = sorted((name for name in counts if name not in known), key=lambda name: (-counts[name], name))
    return [*known, *others][:MOST_COLUMNS]


def _value(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
