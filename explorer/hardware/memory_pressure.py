"""`memory_pressure -Q` text of macOS."""

import re

TOTAL = re.compile(r"^The system has ([0-9]{1,18}) \(", re.MULTILINE)


def total_bytes(text: str) -> int | None:
    """Memory of the machine."""
    match = TOTAL.search(text)
    return int(match[1]) if match else None
