"""Where stored bytes lie: a stretch of a file, or a member of a zip archive.

Files are read with seek and read, never mapped: a file that shrinks meanwhile is then a short read, not a dead process.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from explorer.errors import ExplorerError
from explorer.models.archive import check_directory

AGAIN = "fetch or save it again"
CONTENT_LIMIT_BYTES = 1 << 28
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field: PKWARE's APPNOTE.TXT, 4.3.7
FAILURES = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


class Place(Protocol):
    """A run of `size` bytes."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def opened(self, offset: int) -> AbstractContextManager[BinaryIO]:
        """A stream that begins `offset` bytes in; it may go on behind the end."""
        ...


@dataclass(frozen=True, slots=True)
class Extent:
    """A stretch of a file."""

    file: Path
    start: int
    size: int

    @contextmanager
    def opened(self, offset: int) -> Iterator[BinaryIO]:
        with self.file.open("rb") as stream:
            stream.seek(self.start + offset)
            yield stream


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a zip archive; read in place when it is stored as it is."""

    file: Path
    name: str
    header: int
    compressed: bool
    size: int

    @contextmanager
    def opened(self, offset: int) -> Iterator[BinaryIO]:
        if self.compressed:
            with zipfile.ZipFile(self.file) as archive, archive.open(self.name) as inner:
                inner.seek(offset)
                yield cast(BinaryIO, inner)
            return
        with self.file.open("rb") as stream:
            stream.seek(self.header)
            signature, name, extra = LOCAL_HEADER.unpack(stream.read(LOCAL_HEADER.size))
            if signature != b"PK\x03\x04":
                raise zipfile.BadZipFile(f"no member at byte {self.header}")
            stream.seek(self.header + LOCAL_HEADER.size + name + extra + offset)
            yield stream

    def content(self) -> bytes:
        """All of a small member. Raises `ExplorerError` when it is damaged or would be more than 256 MiB."""
        if self.size > CONTENT_LIMIT_BYTES:
            raise ExplorerError(f"{self.file}: {self.name} is of {self.size} bytes", "it is no sound model file")
        try:
            with self.opened(0) as stream:
                return stream.read(self.size)
        except FAILURES as error:
            raise ExplorerError(f"{self.file}: {self.name} is damaged ({error})", AGAIN) from None


def is_big_endian(inside: Mapping[str, Member]) -> bool:
    """Whether torch says in the archive that its numbers have their highest byte first."""
    return "byteorder" in inside and inside["byteorder"].content().strip() == b"big"


def members(path: Path) -> dict[str, Member]:
    """The members of an archive by their names below its root folder."""
    try:
        with path.open("rb") as stream:
            check_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                entries = archive.infolist()
    except FAILURES as error:
        raise ExplorerError(f"{path} is damaged ({error})", AGAIN) from None
    return {
        entry.filename.partition("/")[2]: Member(
            path, entry.filename, entry.header_offset, entry.compress_type != zipfile.ZIP_STORED, entry.file_size
        )
        for entry in entries
    }
