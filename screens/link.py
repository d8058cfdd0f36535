"""The one connection to the engine: made after the first paint, kept, made again when lost. It only posts messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from explorer.errors import ExplorerError

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.jobs import JobRemoved, JobSummary

T = TypeVar("T")
Connect = Callable[[], Awaitable["Engine"]]

# What a broken connection raises; anything else is a mistake of ours and shall be seen.
LOST = (ExplorerError, OSError, EOFError)
RETRY_S = 1.0
GATHER_S = 0.02


@dataclass
class EngineFound(Message):
    """A connection stands."""

    engine: Engine


@dataclass
class EngineLost(Message):
    """The connection broke or could not be made; another try follows."""

    reason: str


@dataclass
class JobsChanged(Message):
    """Summaries that are new or different, and removals."""

    changes: list[JobSummary | JobRemoved]


async def keep_connected(connect: Connect, post: Callable[[Message], object], retry_s: float = RETRY_S) -> None:
    """Connect, report every change of the jobs, and begin again whenever the connection ends. Never returns."""
    while True:
        reason = "the engine hung up"
        engine: Engine | None = None
        try:
            engine = await connect()
            post(EngineFound(engine))
            async with aclosing(batches(engine.watch_jobs(), interval_s=0.25)) as changes:
                async for batch in changes:
                    post(JobsChanged(batch))
        except LOST as error:
            reason = str(error) or type(error).__name__
        finally:
            if engine is not None:
                with suppress(*LOST):
                    await engine.aclose()
        post(EngineLost(reason))
        await asyncio.sleep(retry_s)


async def batches(stream: AsyncIterator[T], interval_s: float) -> AsyncGenerator[list[T], None]:
    """What `stream` gives, gathered so that at most one list comes each `interval_s` seconds; the first at once."""
    queue: asyncio.Queue[T | None] = asyncio.Queue()

    async def pump() -> None:
        try:
            async for item in stream:
                queue.put_nowait(item)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(pump())
    try:
        ended = False
        while not ended:
            waiting = [await queue.get()]
            await asyncio.sleep(GATHER_S)
            while not queue.empty():
                waiting.append(queue.get_nowait())
            ended = waiting[-1] is None
            if batch := [item for item in waiting if item is not None]:
                yield batch
            if not ended:
                await asyncio.sleep(max(0.0, interval_s - GATHER_S))
        await task
    finally:
        task.cancel()
