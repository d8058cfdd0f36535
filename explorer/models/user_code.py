"""Running a user's own model code and naming the line of it that failed."""

import re
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import ExplorerError

OURS = str(Path(__file__).resolve().parents[1])
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
MISSING_ON_MPS = re.compile(r"The operator '([^']+)' is not currently implemented for the MPS device")
MPS_MEMORY_REMEDY = "make the batch smaller and close other programs; mps_high_watermark sets the limit, 1.7 unless given"
CUDA_MEMORY_REMEDY = "make the batch smaller or use precision bfloat16; nvidia-smi shows who else holds its memory"
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
            raise out_of_memory(error, place) from error
        if operator := MISSING_ON_MPS.search(str(error)):
            message = f"MPS lacks the operator {operator[1]}{f', needed at {place}' if place else ''}"
            raise ExplorerError(message, "let it run on the CPU with mps_fallback, or use device cpu") from error
        if place is None and not always:
            raise
        raise ExplorerError(f"{what}{f' at {place}' if place else ''}: {_told(error)}", remedy) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, torch or CUDA says that there is no memory left; torch says so in a RuntimeError's text."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in OUT_OF_MEMORY)


def out_of_memory(error: BaseException, place: str | None) -> ExplorerError:
    """What to say when there is no memory left at a line of code, with the remedy by whose memory it was."""
    text = " ".join(str(error).split())
    whose, remedy = "", "make the batch or the model smaller"
    if "MPS backend out of memory" in text:
        whose, remedy = "MPS is ", MPS_MEMORY_REMEDY
    elif "CUDA" in text:
        whose, remedy = "the GPU is ", CUDA_MEMORY_REMEDY
    wanted, limit = re.search(r"Tried to allocate ([\d.]+ \w+)", text), re.search(r"max allowed: ([\d.]+ \w+)", text)
    facts = [f"{words} {found[1]}" for words, found in (("wanted", wanted), ("limit", limit)) if found]
    message = f"{whose}out of memory{f' at {place}' if place else ''}"
    return ExplorerError(f"{message} ({', '.join(facts)})" if facts else message, remedy)


def where(error: BaseException) -> str | None:
    """`file:line` of the innermost frame that belongs neither to explorer nor to an installed library; None without one."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [(frame.filename, str(frame.lineno)) for frame in traceback.extract_tb(error.__traceback__)]
    frames += re.findall(r'File "([^"]+)", line (\d+)', _elsewhere(error))
    users = [f"{name}:{line}" for name, line in frames if _is_users(name)]
    return users[-1] if users else None


def _told(error: BaseException) -> str:
    """Type and text of an exception, on one line; of the original where it came from another process or thread."""
    lines = [line for line in _elsewhere(error).splitlines() if line.strip()]
    original = next((at for at, line in enumerate(lines) if not line.startswith(" ")), None)
    text = str(error) if original is None else " ".join(lines[original:])
    return ("" if original is not None else f"{type(error).__name__}: ") + " ".join(text.split())[:300]


def _elsewhere(error: BaseException) -> str:
    """The traceback that torch puts into the text of what its data loaders and replicas raise; empty without one."""
    return str(error).partition("Original Traceback (most recent call last):\n")[2]


def _is_users(filename: str) -> bool:
    if filename.startswith(f"{OURS}/_samples/"):
        return True
    return not filename.startswith(("<", f"{OURS}/", *LIBRARIES))
