"""Reading small members of a zip archive without trusting the sizes that it claims."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import ExplorerError

MEMBER_LIMIT_BYTES = 1 << 28


class Archive:
    """An open zip file of a model, whose members lie below one root folder."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path = path
        self._file = file
        self.names = file.namelist()

    def find(self, inner: str) -> str | None:
        """The full name of the member `ROOT/inner`, or `inner` itself."""
        return next((name for name in self.names if name == inner or name.partition("/")[2] == inner), None)

    def read(self, name: str) -> bytes:
        """A member's bytes; raises `ExplorerError` when it would unpack to more than 256 MiB."""
        with self._file.open(name) as stream:
            data = stream.read(MEMBER_LIMIT_BYTES + 1)
        if len(data) > MEMBER_LIMIT_BYTES:
            raise ExplorerError(
                f"{self.path}: {name} unpacks to more than {MEMBER_LIMIT_BYTES} bytes", "it is no sound model file"
            )
        return data


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The archive, with every way in which it can be damaged turned into one sentence."""
    try:
        with zipfile.ZipFile(path) as file:
            yield Archive(path, file)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise ExplorerError(f"{path} is damaged ({error})", "fetch or save it again") from None
