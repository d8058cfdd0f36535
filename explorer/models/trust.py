"""A yes for one file, by its content: files that run their own code are loaded for no less."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from explorer.errors import ExplorerError

CHUNK_BYTES = 1 << 20
SHORTEST_PREFIX = 12
HEX = re.compile(r"[0-9a-f]{12,64}")


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hex digits, read in pieces."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while piece := stream.read(CHUNK_BYTES):
                digest.update(piece)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", "check the path and its permissions") from None
    return digest.hexdigest()


def require_trust(path: Path, trust: Sequence[str], why: str = "") -> str:
    """The SHA-256 of `path` when `trust` names it, whole or by its first 12 or more hex digits.

    Raises `ExplorerError` otherwise; `why` says what in the file would run.
    """
    wanted = [_digits(item) for item in trust]
    digest = sha256(path)
    if any(digest.startswith(item) for item in wanted):
        return digest
    raise ExplorerError(
        f"{path} runs its own code when it is loaded{f' ({why})' if why else ''}",
        f"look at it with `explorer inspect {path}`; to load it all the same pass --trust {digest}",
    )


def _digits(item: str) -> str:
    digits = item.strip().lower()
    if not HEX.fullmatch(digits):
        raise ExplorerError(
            f"{item!r} is no SHA-256", f"give all 64 hex digits of the file's hash, or its first {SHORTEST_PREFIX}"
        )
    return digits
