"""/proc/meminfo of Linux."""

import re

LINE = re.compile(r"^([A-Za-z][\w()]*):\s+([0-9]{1,15}) kB$", re.MULTILINE)


def parse(text: str) -> dict[str, int]:
    """Every size in bytes under the kernel's name, such as `MemTotal`, `MemAvailable`, `SwapFree`."""
    sizes: dict[str, int] = {}
    for match in LINE.finditer(text):
        sizes.setdefault(match[1], int(match[2]) << 10)
    return sizes
