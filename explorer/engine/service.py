"""The engine process: a Unix socket, the supervisor and the hardware feed. `explorer engine run`."""

import asyncio
import fcntl
import os
import platform
import signal
import sys
import time
from pathlib import Path
from typing import IO

from explorer import __version__, files, home
from explorer.engine.connection import Connection
from explorer.engine.runs import RunReaders
from explorer.engine.sampler import HardwareFeed
from explorer.engine.spawn import WorkerPool
from explorer.engine.supervisor import Supervisor
from explorer.engine.wire import LINE_LIMIT_BYTES, peer_uid
from explorer.schemas.jobs import PROTOCOL, EngineStatus, Hello

IDLE_EXIT_S = 30 * 60.0
WATCH_INTERVAL_S = 2.0
DEFAULT_SLOTS = 2


class Service:
    """One engine: what every connection shares."""

    def __init__(self, socket_path: Path, *, slots: int, pool: WorkerPool, idle_exit_s: float = IDLE_EXIT_S) -> None:
        self.socket_path = socket_path
        self.hardware = HardwareFeed()
        self.runs = RunReaders()
        self._pool = pool
        self.supervisor = Supervisor(home.jobs_folder(), home.scratch_folder(), self._pool, slots)
        self._idle_exit_s = idle_exit_s
        self._connections: set[Connection] = set()
        self._started = time.time()
        self._idle_since_s = time.monotonic()
        self._stopping = asyncio.Event()

    def hello(self) -> Hello:
        running, queued = self.supervisor.counts()
        return Hello(version=__version__, pid=os.getpid(), started=self._started, busy=running + queued > 0)

    def status(self) -> EngineStatus:
        running, queued = self.supervisor.counts()
        return EngineStatus(
            version=__version__,
            protocol=PROTOCOL,
            pid=os.getpid(),
            host=home.host_name(),
            home=str(home.home()),
            socket=str(self.socket_path),
            uptime_s=time.time() - self._started,
            clients=len(self._connections),
            slots=self.supervisor.slots,
            running=running,
            queued=queued,
            python=platform.python_version(),
        )

    def stop(self) -> None:
        """End the engine soon; workers go on."""
        self._stopping.set()

    async def serve(self) -> None:
        """Listen until stopped, idle for long, or robbed of the socket."""
        self.supervisor.adopt(home.host_name())
        server = await asyncio.start_unix_server(self._accept, self.socket_path, limit=LINE_LIMIT_BYTES)
        self.socket_path.chmod(0o600)
        inode = self.socket_path.stat().st_ino
        tasks = [asyncio.create_task(self.supervisor.run()), asyncio.create_task(self._watch(inode))]
        try:
            await self._until_stopped(tasks)
        finally:
            await self._close(server, tasks, inode)

    async def _until_stopped(self, tasks: "list[asyncio.Task[None]]") -> None:
        stopping = asyncio.create_task(self._stopping.wait())
        done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        for task in done:
            task.result()

    async def _close(self, server: asyncio.Server, tasks: "list[asyncio.Task[None]]", inode: int) -> None:
        if _inode(self.socket_path) == inode:
            self.socket_path.unlink()
        server.close()
        for connection in list(self._connections):
            connection.hang_up()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.hardware.aclose()
        await self.runs.aclose()
        self._pool.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = peer_uid(writer.get_extra_info("socket"))
        if uid is not None and uid != os.getuid():
            writer.close()
            return
        connection = Connection(self, reader, writer)
        self._connections.add(connection)
        try:
            await connection.talk()
        finally:
            self._connections.discard(connection)

    async def _watch(self, inode: int) -> None:
        """Stop when nothing happened for long, or when the socket was removed or replaced."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            running, queued = self.supervisor.counts()
            if self._connections or running or queued:
                self._idle_since_s = time.monotonic()
            if time.monotonic() - self._idle_since_s > self._idle_exit_s or _inode(self.socket_path) != inode:
                self.stop()


def run(*, slots: int = DEFAULT_SLOTS, pool: WorkerPool | None = None, idle_exit_s: float = IDLE_EXIT_S) -> int:
    """Serve in the foreground; exit 0. Leaves at once when another engine of this user and host lives."""
    with (home.engine_folder() / "engine.lock").open("a+") as lock:
        if not _take(lock):
            sys.stderr.write("an engine is running already\n")
            return 0
        socket_path = home.socket_path()
        socket_path.unlink(missing_ok=True)
        files.remove(home.scratch_folder())
        asyncio.run(_serve(Service(socket_path, slots=slots, pool=pool or WorkerPool(), idle_exit_s=idle_exit_s)))
    return 0


async def _serve(service: Service) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, service.stop)
    await service.serve()


def _take(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    lock.seek(0)
    lock.truncate()
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return True


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None
