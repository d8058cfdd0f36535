"""Reading members of a zip archive without trusting the sizes that it claims."""

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from explorer.errors import ExplorerError

MEMBER_LIMIT_BYTES = 1 << 26
STREAM_LIMIT_BYTES = 1 << 28
DIRECTORY_LIMIT_BYTES = 1 << 24  # some 200,000 members
DAMAGE = (
    zipfile.BadZipFile, EOFError, OSError, ValueError, KeyError, NotImplementedError, RuntimeError, struct.error, zlib.error,
)  # fmt: skip
END_RECORD, END_RECORD_BYTES, COMMENT_BYTES = b"PK\5\6", 22, 65_535
FAR_RECORD = b"PK\6\6"


class Overlong(zipfile.BadZipFile):
    """The list of members is longer than any model's."""


class Archive:
    """An open zip file of a model, whose members lie below one root folder."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path = path
        self._file = file
        self.names = file.namelist()

    def find(self, inner: str) -> str | None:
        """The full name of the member `ROOT/inner`, or `inner` itself."""
        return next((name for name in self.names if name == inner or name.partition("/")[2] == inner), None)

    def below(self, folder: str) -> dict[str, int]:
        """Bytes of each member below `ROOT/folder`, by its name there."""
        found: dict[str, int] = {}
        for item in self._file.infolist():
            inner = item.filename if item.filename.startswith(folder) else item.filename.partition("/")[2]
            if inner.startswith(folder) and inner != folder:
                found[inner.removeprefix(folder)] = item.file_size
        return found

    def read(self, name: str) -> bytes:
        """A member's bytes; raises `ExplorerError` when it would unpack to more than 64 MiB."""
        with self._file.open(name) as stream:
            data = stream.read(MEMBER_LIMIT_BYTES + 1)
        if len(data) > MEMBER_LIMIT_BYTES:
            raise self._too_big(name, MEMBER_LIMIT_BYTES)
        return data

    @contextmanager
    def stream(self, name: str) -> Iterator[BinaryIO]:
        """A member to read through; raises `ExplorerError` when it would unpack to more than 256 MiB."""
        if self._file.getinfo(name).file_size > STREAM_LIMIT_BYTES:
            raise self._too_big(name, STREAM_LIMIT_BYTES)
        with self._file.open(name) as stream:
            yield cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), 1 << 16))

    def _too_big(self, name: str, limit: int) -> ExplorerError:
        return ExplorerError(f"{self.path}: {name} unpacks to more than {limit} bytes", "it is no sound model file")


@contextmanager
def opened(path: Path, stream: BinaryIO | None = None) -> Iterator[Archive]:
    """The archive in a file, or in a `stream` inside it, with every way in which it can be damaged turned into one sentence."""
    try:
        with stream or path.open("rb") as source:
            check_directory(source)
            with zipfile.ZipFile(source) as file:
                yield Archive(path, file)
    except DAMAGE as error:
        raise ExplorerError(f"{path} is damaged ({error})", "fetch or save it again") from None


def check_directory(stream: BinaryIO) -> None:
    """Raise `BadZipFile` when the list of members is missing or would fill the memory; the standard library reads it whole."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - END_RECORD_BYTES - COMMENT_BYTES))
    tail = stream.read(END_RECORD_BYTES + COMMENT_BYTES)
    position = tail.rfind(END_RECORD)
    if position < 0 or position + END_RECORD_BYTES > len(tail):
        raise zipfile.BadZipFile("its archive directory is missing")
    listed = int.from_bytes(tail[position + 12 : position + 16], "little")
    far = tail.rfind(FAR_RECORD, 0, position)
    if far >= 0:
        listed = max(0 if listed == 0xFFFFFFFF else listed, int.from_bytes(tail[far + 40 : far + 48], "little"))
    if listed > DIRECTORY_LIMIT_BYTES:
        raise Overlong(f"its directory of members has {listed} bytes")
    stream.seek(0)
