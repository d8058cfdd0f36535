"""Finding the engine, and starting one when none answers."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from explorer import __version__, home
from explorer.engine.wire import LINE_LIMIT_BYTES, read_message, write_message
from explorer.errors import ExplorerError
from explorer.schemas.jobs import PROTOCOL, Call, Hello

START_TIMEOUT_S = 20.0
HELLO_TIMEOUT_S = 10.0
FIRST_WAIT_S = 0.02
LONGEST_WAIT_S = 0.3
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_engine(*, start: bool = True) -> Streams:
    """Streams to an engine that said hello and speaks our protocol; starts one unless `start` is False.

    Raises `ExplorerError` when none answers, or when one of another version is busy.
    """
    deadline_s = time.monotonic() + START_TIMEOUT_S
    wait_s = FIRST_WAIT_S
    starter: subprocess.Popen[bytes] | None = None
    while True:
        streams = await _try_open(home.socket_path())
        if streams is not None:
            return streams
        if not start:
            raise ExplorerError("no engine is running", "`explorer engine run` starts one")
        if starter is None or starter.poll() is not None:
            starter = start_engine()
        if time.monotonic() > deadline_s:
            raise ExplorerError(f"the engine did not start within {START_TIMEOUT_S:.0f} s", f"see {log_path()}")
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 1.5, LONGEST_WAIT_S)


def start_engine() -> "subprocess.Popen[bytes]":
    """An engine in a session of its own, its output in `engine.log`."""
    with log_path().open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "explorer", "engine", "run"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home.engine_folder(),
            start_new_session=True,
        )


def log_path() -> Path:
    return home.engine_folder() / "engine.log"


async def _try_open(path: Path) -> Streams | None:
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT_BYTES)
    except (FileNotFoundError, ConnectionError):
        return None
    try:
        hello = await asyncio.wait_for(read_message(reader, Hello), HELLO_TIMEOUT_S)
        if hello is not None and await _agree(hello, writer):
            return reader, writer
    except TimeoutError:
        writer.close()
        raise ExplorerError(f"the engine at {path} does not answer", "end that process, then start again") from None
    except BaseException:
        writer.close()
        raise
    writer.close()
    return None


async def _agree(hello: Hello, writer: asyncio.StreamWriter) -> bool:
    """Say hello back when the versions match; ask an idle engine of another version to leave."""
    await write_message(writer, Hello(version=__version__, pid=os.getpid()))
    if hello.protocol == PROTOCOL and hello.version == __version__:
        return True
    if hello.busy:
        raise ExplorerError(
            f"an engine of version {hello.version} (process {hello.pid}) still runs jobs, and this is {__version__}",
            "wait for them, or `explorer engine stop`: jobs go on and are adopted",
        )
    await write_message(writer, Call(id=1, method="stop"))
    return False
