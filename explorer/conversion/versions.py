"""Whether the installed packages can convert at all, told before anything is tried."""

import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from explorer.errors import ExplorerError

NEWEST_PYTHON = (3, 13)
FIRST_BAD_NUMPY = (2, 4)


def check_versions(target: str, numpy: str = np.__version__, python: tuple[int, int] = sys.version_info[:2]) -> None:
    """Raise `ExplorerError` where coremltools would fail late: numpy 2.4 breaks its tracing, Python 3.14 lacks its libraries."""
    if target != "coreml":
        return
    try:
        installed = version("coremltools")
    except PackageNotFoundError:
        raise ExplorerError("coremltools is not installed", "install 'coremltools>=9,<10'") from None
    if tuple(int(part) for part in numpy.split(".")[:2]) >= FIRST_BAD_NUMPY:
        raise ExplorerError(f"coremltools {installed} cannot convert with numpy {numpy}", "install 'numpy<2.4'")
    if python > NEWEST_PYTHON:
        name = ".".join(map(str, python))
        raise ExplorerError(f"coremltools {installed} has no libraries for Python {name}", "use Python 3.11, 3.12 or 3.13")
