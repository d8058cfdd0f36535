"""The child process that reads runs for every client; it starts with the first question and ends when nobody asks."""

import asyncio
import itertools
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from explorer.errors import ExplorerError

IDLE_EXIT_S = 5 * 60.0
ANSWER_TIMEOUT_S = 120.0
# A child that dies more often than this is not started again for the same watcher.
MOST_DEATHS = 3
_HEAD_LIMIT_BYTES = 2**20


class ReaderDiedError(ExplorerError):
    """The child is gone; another one starts with the next question."""

    def __init__(self) -> None:
        super().__init__("the process that reads runs ended unexpectedly", "ask again; engine.log may say why")


@dataclass(frozen=True, slots=True)
class _Answer:
    """A body of JSON lines, or why there is none."""

    body: bytes = b""
    error: ExplorerError | None = None

    def checked(self) -> bytes:
        if self.error is not None:
            raise self.error
        return self.body


class RunReaders:
    """Curves and news of runs. Each watcher asks for its next batch when it took the last, so nothing piles up here."""

    def __init__(self, *, idle_exit_s: float = IDLE_EXIT_S, module: str = "explorer.runs.server") -> None:
        self._idle_exit_s = idle_exit_s
        self._module = module
        self._ids = itertools.count(1)
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._leaving: asyncio.TimerHandle | None = None

    async def curves(self, query: dict[str, Any]) -> Any:
        """The plain `CurvesAnswer` to a plain `CurvesQuery`; raises `ExplorerError` when the child cannot tell."""
        child, request_id = await self._ready_child(), next(self._ids)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await child.send(id=request_id, method="curves", query=query)
                return from_json((await child.answer(request_id)).checked())
        except TimeoutError:
            child.kill()
            raise ExplorerError("the runs could not be read in two minutes", "ask for fewer or shorter ones") from None
        finally:
            self._done_with(child, request_id)

    async def watch(self, path: str) -> AsyncGenerator[bytes, None]:
        """Batches of `RunNews` as JSON lines; never ends. When the child dies, the next one says all again as restarted."""
        for deaths in range(MOST_DEATHS + 1):
            child, request_id = await self._ready_child(), next(self._ids)
            try:
                await child.send(id=request_id, method="watch", path=path, again=deaths > 0)
                while True:
                    yield (await child.answer(request_id)).checked()
                    await child.send(id=request_id, method="next")
            except ReaderDiedError:
                if deaths == MOST_DEATHS:
                    raise
            finally:
                with suppress(ReaderDiedError):
                    await child.send(id=request_id, method="unwatch")
                self._done_with(child, request_id)

    async def aclose(self) -> None:
        """End the child."""
        if self._leaving is not None:
            self._leaving.cancel()
        if self._child is not None:
            await self._child.aclose()

    async def _ready_child(self) -> "_Child":
        async with self._starting:
            if self._leaving is not None:
                self._leaving.cancel()
            if self._child is None or self._child.dead:
                self._child = await _Child.start(self._module)
            return self._child

    def _done_with(self, child: "_Child", request_id: int) -> None:
        child.forget(request_id)
        if child is self._child and not child.waiting and not child.dead:
            if self._leaving is not None:
                self._leaving.cancel()
            self._leaving = asyncio.get_running_loop().call_later(self._idle_exit_s, child.hang_up)


class _Child:
    """One process and who waits for it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.waiting: dict[int, asyncio.Queue[_Answer]] = {}
        self.dead = False
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, module: str) -> "_Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_HEAD_LIMIT_BYTES,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send(self, **request: Any) -> None:
        if self.dead or self._process.stdin is None:
            raise ReaderDiedError
        if request["method"] in ("curves", "watch"):
            self.waiting[request["id"]] = asyncio.Queue()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):
            raise ReaderDiedError from None

    async def answer(self, request_id: int) -> _Answer:
        return await self.waiting[request_id].get()

    def forget(self, request_id: int) -> None:
        self.waiting.pop(request_id, None)

    def hang_up(self) -> None:
        """Let it end by itself."""
        self.dead = True
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        self.dead = True
        with suppress(ProcessLookupError):
            self._process.kill()

    async def aclose(self) -> None:
        self.hang_up()
        try:
            await asyncio.wait_for(asyncio.shield(self._listening), 1.0)
        except TimeoutError:
            self.kill()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self) -> None:
        """Hand out answers until the process ends, then wake everybody who still waits."""
        try:
            while (head := await self._head()) is not None:
                answer = await self._rest_of(head)
                if (queue := self.waiting.get(head["id"])) is not None:
                    queue.put_nowait(answer)
        except (asyncio.IncompleteReadError, ValueError, KeyError, ConnectionError):
            self.kill()
        finally:
            self.dead = True
            for queue in self.waiting.values():
                queue.put_nowait(_Answer(error=ReaderDiedError()))
            await self._process.wait()

    async def _head(self) -> dict[str, Any] | None:
        stdout = self._process.stdout
        line = await stdout.readline() if stdout is not None else b""
        return json.loads(line) if line.endswith(b"\n") else None

    async def _rest_of(self, head: dict[str, Any]) -> _Answer:
        if "error" in head:
            return _Answer(error=ExplorerError(head["error"], head.get("remedy", "")))
        stdout = self._process.stdout
        return _Answer(body=await stdout.readexactly(head["bytes"]) if stdout is not None else b"")
