"""A file that another process appends to: read from where the last read stopped, begun again when it was replaced."""

import os
from pathlib import Path

CHUNK_BYTES = 8 * 2**20
HEAD_BYTES = 1024
# A longer line belongs to no log.
LINE_LIMIT_BYTES = 64 * 2**20


class GrowingFile:
    """Bytes of a growing file. `offset` is where the next read starts; take back what was not whole with `give_back`.

    A file that shrank, that is another one now (inode), or whose first bytes changed is `replaced`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.size = 0
        self._inode: int | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._head = b""

    def look(self) -> bool:
        """Whether the file changed since the last look; a missing one did not. One system call."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.size = status.st_size
        return True

    def replaced(self) -> bool:
        """Whether what was read is void; then reading starts again at zero. Ask after `look`."""
        inode = self._stamp[0] if self._stamp else None
        void = self._inode is not None and (inode != self._inode or self.size < self.offset or self._head_changed())
        if void:
            self.rewind()
        self._inode = inode
        return void

    def rewind(self) -> None:
        """Read from the beginning again."""
        self.offset = 0
        self._head = b""

    def read(self, limit_bytes: int = CHUNK_BYTES) -> bytes:
        """The next bytes, at most `limit_bytes`; empty at the end or when the file cannot be read."""
        data = self.peek(self.offset, limit_bytes)
        if len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)] if self.offset == len(self._head) else b""
        self.offset += len(data)
        return data

    def give_back(self, count: int) -> None:
        """Let the next read start `count` bytes earlier."""
        self.offset -= count
        self._head = self._head[: self.offset]

    def peek(self, start: int, count: int) -> bytes:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(fd, count, start)
        except OSError:
            return b""
        finally:
            os.close(fd)

    def _head_changed(self) -> bool:
        return self.peek(0, len(self._head)) != self._head


def whole_lines(file: GrowingFile, limit_bytes: int = CHUNK_BYTES) -> bytes:
    """The next lines that are complete, with their ends; empty when there is none yet."""
    data = file.read(limit_bytes)
    while data and (end := data.rfind(b"\n") + 1) == 0:
        more = file.read(limit_bytes)
        if not more:
            file.give_back(len(data))
            return b""
        data = data + more if len(data) < LINE_LIMIT_BYTES else more
    if not data:
        return b""
    file.give_back(len(data) - end)
    return data[:end]
