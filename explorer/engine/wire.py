"""JSON lines over a Unix socket: framing, and who is on the other side."""

import asyncio
import socket
import struct
import sys
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from explorer.errors import ExplorerError

# Longest line either side accepts; asyncio's own limit is 64 KiB.
LINE_LIMIT_BYTES = 64 * 2**20
# <sys/un.h> on macOS: level SOL_LOCAL, option LOCAL_PEERCRED gives struct xucred with the uid as its second word.
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1

M = TypeVar("M", bound=BaseModel)


async def read_message(reader: asyncio.StreamReader, model: type[M]) -> M | None:
    """The next message, or None at the end of the stream; raises `ExplorerError` for a line that is none."""
    try:
        line = await reader.readline()
    except ValueError:
        raise ExplorerError(f"a message is longer than {LINE_LIMIT_BYTES >> 20} MiB", "pass big data as a file") from None
    except ConnectionError:
        return None
    if not line.endswith(b"\n"):
        return None
    try:
        return model.model_validate_json(line)
    except ValidationError:
        raise ExplorerError("the other side sent something that is no message", "check that both run the same version") from None


async def write_message(writer: asyncio.StreamWriter, message: BaseModel) -> None:
    """Send one message and wait until the socket took it."""
    writer.write(message.model_dump_json().encode() + b"\n")
    await writer.drain()


def peer_uid(connection: socket.socket) -> int | None:
    """The user on the other side, as the kernel says; None where the system does not tell."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    if sys.platform == "darwin":
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        return int(struct.unpack("=II", credentials[:8])[1])
    return None
