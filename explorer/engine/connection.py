"""One client at the socket: its calls, its streams, and never a wait that another client feels."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from explorer.engine.events_file import EventReader, is_metric, seq_of
from explorer.engine.wire import read_message, write_message
from explorer.errors import ExplorerError
from explorer.hardware import recorded
from explorer.schemas.jobs import Call, Command, ControlLine, Hello, Reply, Setting
from explorer.schemas.specs import parse_spec

if TYPE_CHECKING:
    from explorer.engine.service import Service

STREAMS = frozenset({"follow", "watch_jobs", "watch_hardware", "watch_runs"})


class Connection:
    """Answers one client. Each stream reads from a file or a mailbox at the client's own pace, so nothing piles up here."""

    def __init__(self, service: "Service", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._service = service
        self._supervisor = service.supervisor
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def talk(self) -> None:
        """Greet, then serve calls until the client hangs up or talks nonsense."""
        try:
            await write_message(self._writer, self._service.hello())
            if await read_message(self._reader, Hello) is None:
                return
            while (call := await read_message(self._reader, Call)) is not None:
                self._begin(call)
        except (ExplorerError, ConnectionError):
            pass
        finally:
            await self._end()

    def hang_up(self) -> None:
        self._writer.close()

    def _begin(self, call: Call) -> None:
        if call.method == "unfollow":
            if (task := self._tasks.get(call.params.get("id", 0))) is not None:
                task.cancel()
            return
        task = asyncio.create_task(self._serve(call))
        self._tasks[call.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call.id, None))

    async def _end(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._writer.close()

    async def _serve(self, call: Call) -> None:
        try:
            await self._send(await self._reply(call))
        except ExplorerError as error:
            await self._send(Reply(id=call.id, error=error.message, remedy=error.remedy))
        except ConnectionError:
            pass
        except Exception as error:
            await self._send(
                Reply(id=call.id, error=f"the engine failed: {type(error).__name__}: {error}", remedy="see engine.log")
            )
            raise

    async def _reply(self, call: Call) -> Reply:
        if call.method in STREAMS:
            stream: AsyncIterator[bytes] = getattr(self, f"_{call.method}")(**call.params)
            async for items in stream:
                await self._send_items(call.id, items)
            return Reply(id=call.id)
        handler = getattr(self, f"_call_{call.method}", None)
        if handler is None:
            raise ExplorerError(f"the engine has no call {call.method!r}", "check that both run the same version")
        return Reply(id=call.id, result=await handler(**call.params))

    async def _send(self, message: Reply) -> None:
        async with self._sending:
            await write_message(self._writer, message)

    async def _send_items(self, call_id: int, items: bytes) -> None:
        """Items are JSON lines already; each is wrapped in a reply without being parsed again."""
        head = b'{"id":%d,"more":true,"result":' % call_id
        lines = [head + item + b"}\n" for item in items.split(b"\n") if item]
        async with self._sending:
            self._writer.write(b"".join(lines))
            await self._writer.drain()

    # Streams of JSON lines

    async def _follow(self, job_id: str, since: int = 0, metrics_since: int = 0) -> AsyncIterator[bytes]:
        folder = self._supervisor.find(job_id)
        reader = EventReader(folder.events_path)
        while True:
            doorbell = self._supervisor.doorbell(folder.id)
            ticket = doorbell.ticket() if doorbell else None
            while lines := reader.read_lines():
                fresh = [line for line in _without_stale_progress(lines) if seq_of(line) > since]
                if kept := [line for line in fresh if seq_of(line) > metrics_since or not is_metric(line)]:
                    yield b"\n".join(kept)
                else:
                    await asyncio.sleep(0)  # a long file of nothing wanted keeps no other client waiting
            if ticket is None:
                return
            await ticket.wait()

    async def _watch_jobs(self) -> AsyncIterator[bytes]:
        mailbox = self._supervisor.watch()
        try:
            while True:
                yield b"\n".join(item.model_dump_json().encode() for item in await mailbox.take_all())
        finally:
            self._supervisor.unwatch(mailbox)

    async def _watch_hardware(self) -> AsyncIterator[bytes]:
        mailbox = self._service.hardware.watch()
        try:
            while True:
                yield b"\n".join(item.model_dump_json().encode() for item in await mailbox.take_all())
        finally:
            self._service.hardware.unwatch(mailbox)

    async def _watch_runs(self, path: str) -> AsyncIterator[bytes]:
        async with aclosing(self._service.runs.watch(path)) as news:
            async for lines in news:
                yield lines

    # Calls

    async def _call_submit(self, spec: dict[str, Any], cwd: str) -> Any:
        return _plain(self._supervisor.submit(parse_spec(spec), cwd))

    async def _call_answer(self, spec: dict[str, Any], cwd: str) -> Any:
        summary = self._supervisor.submit(parse_spec(spec), cwd, scratch=True)
        result: Any = None
        try:
            async for lines in self._follow(summary.id):
                result = _last_word(lines) or result
        finally:
            self._supervisor.forget_scratch(summary.id)
        if isinstance(result, ExplorerError):
            raise result
        if result is None:
            raise ExplorerError("the worker gave no answer", "see engine.log")
        return result

    async def _call_jobs(self) -> Any:
        return [_plain(summary) for summary in self._supervisor.summaries()]

    async def _call_job(self, job_id: str) -> Any:
        return _plain(self._supervisor.summary(job_id))

    async def _call_spec(self, job_id: str) -> Any:
        return _plain(self._supervisor.find(job_id).record().spec)

    async def _call_log(self, job_id: str, tail_bytes: int) -> Any:
        return self._supervisor.find(job_id).log_tail(tail_bytes)

    async def _call_control(self, job_id: str, command: Any, values: dict[str, Any] | None = None) -> Any:
        return _plain(self._supervisor.control(job_id, _control_line(command, values or {})))

    async def _call_remove(self, job_id: str) -> Any:
        self._supervisor.remove(job_id)

    async def _call_curves(self, query: dict[str, Any]) -> Any:
        return await self._service.runs.curves(query)

    async def _call_recorded(self, folder: str) -> Any:
        return _plain(await asyncio.to_thread(recorded.inventory, Path(folder)))

    async def _call_inventory(self) -> Any:
        return _plain(await self._service.hardware.inventory())

    async def _call_status(self) -> Any:
        return _plain(self._service.status())

    async def _call_stop(self) -> Any:
        self._service.stop()


def _control_line(command: Any, values: dict[str, Any]) -> ControlLine:
    try:
        return ControlLine(command=command, values=values)
    except ValidationError:
        raise ExplorerError(
            f"{command!r} with {values} is nothing to say to a job",
            f"say {', '.join(get_args(Command))}; set takes {', '.join(get_args(Setting))}, above zero",
        ) from None


def _plain(record: Any) -> Any:
    return record.model_dump(mode="json")


def _without_stale_progress(lines: list[bytes]) -> list[bytes]:
    """The lines without progress that later progress in the same batch replaces."""
    stale = [index for index, line in enumerate(lines) if b'"kind":"progress"' in line[:80]][:-1]
    dropped = set(stale)
    return [line for index, line in enumerate(lines) if index not in dropped]


def _last_word(lines: bytes) -> Any:
    """The plain result or the failure in a batch of events."""
    found: Any = None
    for line in lines.split(b"\n"):
        event = json.loads(line)
        if event["kind"] == "result":
            found = event["result"]
        elif event["kind"] == "failure":
            found = ExplorerError(event["message"], event["remedy"])
    return found
