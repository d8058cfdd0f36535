"""The async API to the engine: all that screens and the command line hold."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from explorer.engine.start import open_engine
from explorer.engine.wire import read_message, write_message
from explorer.errors import ExplorerError
from explorer.schemas.curves import CurvesAnswer, CurvesQuery, RunNews
from explorer.schemas.events import EVENT_ADAPTER, Event
from explorer.schemas.jobs import Call, Command, EngineStatus, JobRemoved, JobSummary, Reply, Setting
from explorer.schemas.paths import absolute_source, with_absolute_paths
from explorer.schemas.readings import HardwareSample, Inventory
from explorer.schemas.results import RESULT_ADAPTER, JobResult
from explorer.schemas.specs import SPEC_ADAPTER, Spec

# Items of one stream that wait here; beyond that the socket fills and the engine reads the file later.
QUEUE_ITEMS = 1024


class Engine(Protocol):
    """What the engine does for its clients. Every call raises `ExplorerError` with one sentence when it cannot."""

    async def submit(self, spec: Spec) -> JobSummary:
        """Queue a job and give its first summary."""
        ...

    async def answer(self, spec: Spec) -> JobResult:
        """Run a short spec such as an inspection at once, keep no job, give its result."""
        ...

    async def jobs(self) -> list[JobSummary]:
        """Every kept job, oldest first."""
        ...

    async def job(self, job_id: str) -> JobSummary:
        """One job, by its ID or any unique ending or beginning of it."""
        ...

    async def spec(self, job_id: str) -> Spec:
        """What a job was asked to do."""
        ...

    async def log(self, job_id: str, tail_bytes: int = 65_536) -> str:
        """The end of a job's standard output and error."""
        ...

    async def control(self, job_id: str, command: Command, values: Mapping[Setting, float] | None = None) -> JobSummary:
        """Pause, resume, cancel, checkpoint, stop or set `values`. Resuming an ended job with a checkpoint queues it again."""
        ...

    async def remove(self, job_id: str) -> None:
        """Delete an ended job's folder."""
        ...

    def follow(self, job_id: str, since: int = 0, metrics_since: int = 0) -> AsyncIterator[Event]:
        """Events with `seq` above `since`, first from the file, then live; ends after the job's last state.

        Metrics with `seq` up to `metrics_since` are left out, for those who have them from `curves`.
        """
        ...

    def watch_jobs(self) -> AsyncIterator[JobSummary | JobRemoved]:
        """Every job's summary now, then each change, latest wins; never ends."""
        ...

    async def curves(self, query: CurvesQuery) -> CurvesAnswer:
        """Histories of runs, thinned; a run that cannot be read says why in its `problem`."""
        ...

    def watch_runs(self, path: str) -> AsyncIterator[RunNews]:
        """Every run that any trainer logs at or below `path`, then what is new in each; never ends."""
        ...

    async def inventory(self) -> Inventory:
        """What this machine can compute with; readings still `pending` fill in on a later call."""
        ...

    async def recorded(self, folder: str) -> Inventory:
        """Another machine, from a folder of its recorded outputs."""
        ...

    def watch_hardware(self) -> AsyncIterator[HardwareSample]:
        """A live sample each second while somebody watches; never ends."""
        ...

    async def status(self) -> EngineStatus: ...

    async def stop(self) -> None:
        """End the engine; running jobs go on and are adopted by the next one."""
        ...

    async def aclose(self) -> None:
        """Hang up; jobs and engine go on."""
        ...


class EngineClient:
    """An `Engine` over the Unix socket. Make one with `connect()`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[Reply | None]] = {}
        self._closed = False
        self._listening = asyncio.create_task(self._listen())

    async def submit(self, spec: Spec) -> JobSummary:
        return JobSummary.model_validate(await self._call("submit", **_request(spec)))

    async def answer(self, spec: Spec) -> JobResult:
        return RESULT_ADAPTER.validate_python(await self._call("answer", **_request(spec)))

    async def jobs(self) -> list[JobSummary]:
        return [JobSummary.model_validate(item) for item in await self._call("jobs")]

    async def job(self, job_id: str) -> JobSummary:
        return JobSummary.model_validate(await self._call("job", job_id=job_id))

    async def spec(self, job_id: str) -> Spec:
        return SPEC_ADAPTER.validate_python(await self._call("spec", job_id=job_id))

    async def log(self, job_id: str, tail_bytes: int = 65_536) -> str:
        return str(await self._call("log", job_id=job_id, tail_bytes=tail_bytes))

    async def control(self, job_id: str, command: Command, values: Mapping[Setting, float] | None = None) -> JobSummary:
        asked = {"job_id": job_id, "command": command, "values": dict(values or {})}
        return JobSummary.model_validate(await self._call("control", **asked))

    async def remove(self, job_id: str) -> None:
        await self._call("remove", job_id=job_id)

    async def follow(self, job_id: str, since: int = 0, metrics_since: int = 0) -> AsyncIterator[Event]:
        asked = {"job_id": job_id, "since": since, "metrics_since": metrics_since}
        async with aclosing(self._stream("follow", **asked)) as items:
            async for item in items:
                yield EVENT_ADAPTER.validate_python(item)

    async def watch_jobs(self) -> AsyncIterator[JobSummary | JobRemoved]:
        async with aclosing(self._stream("watch_jobs")) as items:
            async for item in items:
                yield (JobSummary if "state" in item else JobRemoved).model_validate(item)

    async def curves(self, query: CurvesQuery) -> CurvesAnswer:
        folder = Path.cwd()
        asked = query.model_copy(update={"sources": [absolute_source(text, folder) for text in query.sources]})
        return CurvesAnswer.model_validate(await self._call("curves", query=asked.model_dump(mode="json")))

    async def watch_runs(self, path: str) -> AsyncIterator[RunNews]:
        async with aclosing(self._stream("watch_runs", path=_absolute(path))) as items:
            async for item in items:
                yield RunNews.model_validate(item)

    async def inventory(self) -> Inventory:
        return Inventory.model_validate(await self._call("inventory"))

    async def recorded(self, folder: str) -> Inventory:
        return Inventory.model_validate(await self._call("recorded", folder=_absolute(folder)))

    async def watch_hardware(self) -> AsyncIterator[HardwareSample]:
        async with aclosing(self._stream("watch_hardware")) as items:
            async for item in items:
                yield HardwareSample.model_validate(item)

    async def status(self) -> EngineStatus:
        return EngineStatus.model_validate(await self._call("status"))

    async def stop(self) -> None:
        await self._call("stop")

    async def aclose(self) -> None:
        self._writer.close()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._hang_up()

    async def _listen(self) -> None:
        try:
            while (reply := await read_message(self._reader, Reply)) is not None:
                if (queue := self._waiting.get(reply.id)) is not None:
                    await queue.put(reply)
        except (ExplorerError, ConnectionError):
            pass
        finally:
            self._hang_up()

    def _hang_up(self) -> None:
        """Wake everybody who waits for an answer that will not come."""
        self._closed = True
        for queue in self._waiting.values():
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    async def _call(self, method: str, **params: Any) -> Any:
        async with self._conversation(method, params) as (_, queue):
            return _checked(await queue.get()).result

    async def _stream(self, method: str, **params: Any) -> AsyncGenerator[Any, None]:
        async with self._conversation(method, params) as (call_id, queue):
            try:
                while (reply := _checked(await queue.get())).more:
                    yield reply.result
            finally:
                with suppress(EngineLostError):
                    await self._send(Call(id=0, method="unfollow", params={"id": call_id}))

    @asynccontextmanager
    async def _conversation(
        self, method: str, params: dict[str, Any]
    ) -> "AsyncIterator[tuple[int, asyncio.Queue[Reply | None]]]":
        call_id = next(self._ids)
        queue: asyncio.Queue[Reply | None] = asyncio.Queue(QUEUE_ITEMS)
        self._waiting[call_id] = queue
        try:
            await self._send(Call(id=call_id, method=method, params=params))
            yield call_id, queue
        finally:
            del self._waiting[call_id]

    async def _send(self, call: Call) -> None:
        if self._closed:
            raise EngineLostError
        try:
            await write_message(self._writer, call)
        except ConnectionError:
            raise EngineLostError from None


class EngineLostError(ExplorerError):
    """The engine went away; jobs go on, and a new `connect()` finds them."""

    def __init__(self) -> None:
        super().__init__("the engine is gone", "jobs go on; connect again")


async def connect(*, start: bool = True) -> EngineClient:
    """A client of this user's engine on this host, started when none answers (unless `start` is False)."""
    return EngineClient(*await open_engine(start=start))


def _request(spec: Spec) -> dict[str, Any]:
    folder = Path.cwd()
    return {"spec": with_absolute_paths(spec, folder).model_dump(mode="json"), "cwd": str(folder)}


def _absolute(folder: str) -> str:
    return str(Path(folder).expanduser().absolute())


def _checked(reply: Reply | None) -> Reply:
    if reply is None:
        raise EngineLostError
    if reply.error is not None:
        raise ExplorerError(reply.error, reply.remedy)
    return reply
