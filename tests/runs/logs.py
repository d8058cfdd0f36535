"""Logs for tests: written as trainers write them, and read to plain lists."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorer.runs.find import Found
from explorer.runs.sources import OpenRun
from explorer.schemas.curves import RunFormat

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "runs"
Points = dict[str, list[tuple[int, float]]]


def open_run(path: Path, run_format: RunFormat) -> OpenRun:
    return OpenRun(Found(path, path.name, run_format))


def points_of(run: OpenRun) -> Points:
    """Every metric as (step, value) after a refresh; NaN becomes a word, so that lists compare."""
    run.refresh()
    return {
        name: [
            (step, value if value == value else "nan")  # type: ignore[misc]
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True)
        ]
        for name, series in run.history.series.items()
        if len(series)
    }


def read_points(path: Path, run_format: RunFormat) -> Points:
    return points_of(open_run(path, run_format))


def read_in_parts(path: Path, run_format: RunFormat, content: bytes, ends: list[int]) -> Points:
    """Write a file up to each of `ends` in turn, then whole, reading after each write as a follower does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    run = open_run(path, run_format)
    done = 0
    for end in [*ends, len(content)]:
        with path.open("ab") as stream:
            stream.write(content[done:end])
        done = end
        run.refresh()
    return points_of(run)


@contextmanager
def quiet() -> Iterator[None]:
    """TensorBoard and its kin warn of their own dependencies."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        yield


def tensorboard_x(folder: Path) -> Any:
    with quiet():
        from tensorboardX import SummaryWriter

        return SummaryWriter(str(folder))


def torch_writer(folder: Path, **options: Any) -> Any:
    with quiet():
        from torch.utils.tensorboard import SummaryWriter

        return SummaryWriter(str(folder), **options)


def accumulated(folder: Path) -> Points:
    """What TensorBoard's own reader finds."""
    with quiet():
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
        reader.Reload()
        return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def event_bytes(write: Callable[[Any], object], folder: Path) -> bytes:
    """The one event file that a torch writer leaves in `folder`."""
    writer = torch_writer(folder)
    write(writer)
    writer.close()
    return next(folder.glob("*tfevents*")).read_bytes()
