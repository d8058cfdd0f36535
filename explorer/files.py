"""Writing files so that a killed process leaves the old one or the new one, never half of either."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_by_rename(target: Path) -> Iterator[Path]:
    """A temporary sibling of `target` (file or folder): synced and renamed into place when the block ends well, else removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".writing-{os.getpid()}-{target.name}")
    remove(temporary)
    try:
        yield temporary
        sync(temporary)
        replace(temporary, target)
    except BaseException:
        remove(temporary)
        raise


def size_bytes(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if path.is_dir():
        return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
    return path.stat().st_size


def remove(path: Path) -> None:
    """Remove a file or a folder, present or not."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file, or every file below a folder, to the disk."""
    for item in path.rglob("*") if path.is_dir() else [path]:
        if item.is_file():
            with item.open("rb") as stream:
                os.fsync(stream.fileno())


def replace(source: Path, target: Path) -> None:
    """Put `source` at `target`; a folder in the way is moved aside first, since rename replaces only files."""
    if target.is_dir():
        aside = target.with_name(f".old-{os.getpid()}-{target.name}")
        os.rename(target, aside)
        os.rename(source, target)
        shutil.rmtree(aside)
    else:
        os.replace(source, target)
