"""Device files of accelerators: a container may show a device on the PCI bus and yet not hand it over."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path("/dev")
PATTERNS = ("nvidia*", "kfd", "dri/renderD*", "accel[0-9]*", "vfio/[0-9]*", "dxg")


def read(root: Path = ROOT) -> frozenset[str]:
    """Names below `root` of the accelerators' files, such as `nvidia0` or `dri/renderD128`; none where it cannot be read."""
    try:
        return frozenset(path.relative_to(root).as_posix() for pattern in PATTERNS for path in root.glob(pattern))
    except OSError:
        return frozenset()


def has(names: Collection[str], *patterns: str) -> bool:
    """Whether one of the names matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
