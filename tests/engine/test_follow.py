"""Following a job without the values that are already known."""

import time
from collections.abc import AsyncIterator

from explorer import home
from explorer.engine.client import EngineClient
from explorer.engine.events_file import is_metric
from explorer.engine.jobs import JobFolder
from explorer.schemas.events import Artifact, Event, Log, Metric, Progress, State
from explorer.schemas.specs import TrainSpec


def a_job_with(*events: Event) -> JobFolder:
    """A job that ended before any engine was there."""
    folder = JobFolder.create(home.jobs_folder(), TrainSpec(), model="digits_cnn", cwd="/")
    folder.append(*events, State(state="done"))
    return folder


async def gathered(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


def test_a_metric_is_told_by_the_beginning_of_its_line() -> None:
    metric = Metric(seq=123_456_789, steps=[1], values={"loss": [1.0]})
    assert is_metric(metric.model_dump_json().encode())
    assert not is_metric(Progress(seq=1, done=1).model_dump_json().encode())


async def test_known_metrics_are_left_out_and_everything_else_comes(engine: EngineClient) -> None:
    folder = a_job_with(
        State(state="running"),
        Metric(steps=[1], values={"loss": [1.0]}),
        Artifact(name="checkpoints/step-1.pt", bytes=9, step=1),
        Metric(steps=[2], values={"loss": [0.5]}),
        Metric(steps=[3], values={"loss": [0.4]}),
    )
    whole = await gathered(engine.follow(folder.id))
    rest = await gathered(engine.follow(folder.id, metrics_since=4))
    assert [event for event in whole if event not in rest] == [whole[1], whole[3]]
    assert [event.seq for event in rest] == [1, 3, 5, 6]


async def test_a_long_history_of_metrics_is_passed_over_in_no_time(engine: EngineClient) -> None:
    steps = list(range(100))
    columns = Metric(steps=steps, values={name: [0.123456] * 100 for name in ("loss", "lr", "grad_norm")})
    folder = a_job_with(*[columns] * 2000, Log(text="the end"))
    start = time.monotonic()
    events = await gathered(engine.follow(folder.id, metrics_since=2000))
    assert [event.kind for event in events] == ["log", "state"]
    assert time.monotonic() - start < 2.0
