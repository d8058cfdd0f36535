"""Histories of trainings, ours and others': what can be asked for charts, and what comes."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Record, Request

RunFormat = Literal["job", "tfevents", "csv", "jsonl", "trainer_state"]


class CurvesQuery(Request):
    """Curves of up to eight runs within `start`..`stop` of the axis, thinned so that no peak is lost.

    `sources` are `job:ID`, or files and folders that any trainer wrote. `points` bounds each curve: it is cut into `points / 4`
    stretches of which the first, lowest, highest and last value stay. Time is in seconds since the first value of its run.
    """

    sources: list[str] = Field(min_length=1, max_length=8)
    names: list[str] = Field(default_factory=list)
    axis: Literal["step", "time"] = "step"
    start: float | None = None
    stop: float | None = None
    points: int = Field(2048, ge=8, le=65_536)


class Curve(Record):
    """One metric over the axis: xs rise, `count` points stand behind those shown, `last` is the latest value of all."""

    name: str
    xs: list[float]
    ys: list[float]
    count: int = 0
    last: float | None = None


class RunCurves(Record):
    """One run: `source` is what was asked for, `name` what people call it. Times are Unix seconds, None where the log has none.

    `problem` says in one sentence why there is nothing, or not all.
    """

    source: str
    name: str
    format: RunFormat | None = None
    first_time: float | None = None
    last_time: float | None = None
    last_step: int | None = None
    curves: list[Curve] = Field(default_factory=list)
    problem: str = ""


class CurvesAnswer(Record):
    """A `RunCurves` for each source, in order."""

    runs: list[RunCurves]


class RunNews(Record):
    """What is new in one run below a watched path. The first is thinned like an answer, later ones bring new points only.

    `restarted`: forget what came before, the log was begun again. `gone`: its file was removed.
    """

    run: RunCurves
    restarted: bool = False
    gone: bool = False
