"""Running a user's own model code and naming the line of it that failed."""

import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import ExplorerError

OURS = str(Path(__file__).resolve().parents[1])
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@contextmanager
def blamed(what: str, remedy: str = "mend that line", *, always: bool = True) -> Iterator[None]:
    """Turn an exception in the block into one `ExplorerError`: `what`, the user's file and line, type and text.

    `always` False leaves exceptions alone in which no line of the user's took part.
    """
    try:
        yield
    except ExplorerError:
        raise
    except Exception as error:
        place = where(error)
        if is_out_of_memory(error):
            raise ExplorerError(
                f"out of memory{f' at {place}' if place else ''}", "make the batch or the model smaller"
            ) from error
        if place is None and not always:
            raise
        text = " ".join(str(error).split())[:300]
        raise ExplorerError(f"{what}{f' at {place}' if place else ''}: {type(error).__name__}: {text}", remedy) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, torch or CUDA says that there is no memory left; torch says so in a RuntimeError's text."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in OUT_OF_MEMORY)


def where(error: BaseException) -> str | None:
    """`file:line` of the innermost frame that belongs neither to explorer nor to an installed library; None without one."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def _is_users(filename: str) -> bool:
    if filename.startswith(f"{OURS}/_samples/"):
        return True
    return not filename.startswith(("<", f"{OURS}/", *LIBRARIES))
