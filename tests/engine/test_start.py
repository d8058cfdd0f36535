"""Finding an engine: versions that differ, servers that are silent, paths that are too long, strangers."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from explorer import home
from explorer.engine import service, start
from explorer.engine.client import connect
from explorer.engine.spawn import WorkerPool
from explorer.engine.wire import peer_uid
from explorer.errors import ExplorerError
from explorer.schemas.jobs import Call, Hello
from tests.engine.conftest import StartEngine, until


@asynccontextmanager
async def other_engine(hello: bytes) -> AsyncIterator[list[str]]:
    """A server on the engine's socket that greets with `hello`; gives the methods it was told, and leaves when told to stop."""
    told: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(hello)
        await reader.readline()
        if line := await reader.readline():
            told.append(Call.model_validate_json(line).method)
            home.socket_path().unlink()
        writer.close()

    server = await asyncio.start_unix_server(talk, home.socket_path())
    yield told
    server.close()
    await asyncio.sleep(0.05)


async def test_an_idle_engine_of_another_version_is_replaced(start_engine: StartEngine) -> None:
    async with other_engine(Hello(version="0.0.1", pid=1).model_dump_json().encode() + b"\n") as told:
        client = await connect()
        assert told == ["stop"]
        assert (await client.status()).pid != 1
        await client.aclose()


async def test_a_busy_engine_of_another_version_is_named() -> None:
    async with other_engine(Hello(version="0.0.1", pid=77, busy=True).model_dump_json().encode() + b"\n"):
        with pytest.raises(ExplorerError, match=r"version 0\.0\.1 \(process 77\) still runs jobs"):
            await connect()


async def test_a_server_that_is_no_engine_is_one_sentence() -> None:
    async with other_engine(b"HTTP/1.1 400 Bad Request\r\n\n"):
        with pytest.raises(ExplorerError, match="no message"):
            await connect()


async def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "HELLO_TIMEOUT_S", 0.2)
    async with other_engine(b""):
        with pytest.raises(ExplorerError, match="does not answer"):
            await connect()


async def test_an_engine_that_does_not_come_up_names_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dead:
        def poll(self) -> int | None:
            return None

    monkeypatch.setattr(start, "START_TIMEOUT_S", 0.2)
    monkeypatch.setattr(start, "start_engine", Dead)
    with pytest.raises(ExplorerError, match=r"did not start within .*engine\.log"):
        await connect()


def test_a_long_home_gets_a_short_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("deep" * 30)
    monkeypatch.setenv("EXPLORER_HOME", str(deep))
    path = home.socket_path()
    assert len(os.fsencode(path)) <= home.MAX_SOCKET_PATH_BYTES
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path == home.socket_path(), "the same home gives the same socket"
    path.parent.rmdir()


def test_folders_are_private(explorer_home: Path) -> None:
    for folder in (home.jobs_folder(), home.engine_folder(), home.scratch_folder()):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 54321)
        with pytest.raises(ExplorerError, match="belongs to another user"):
            home.private_folder(tmp_path)


def test_the_kernel_names_the_peer() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


async def test_a_stranger_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "peer_uid", lambda _: os.getuid() + 1)
    engine = service.Service(home.socket_path(), slots=1, pool=WorkerPool(keep_warm=False))
    serving = asyncio.create_task(engine.serve())
    await until(home.socket_path().exists)
    reader, writer = await asyncio.open_unix_connection(home.socket_path())
    assert await reader.read() == b"", "not even a hello"
    writer.close()
    engine.stop()
    await serving
