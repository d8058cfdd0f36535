"""The kernel's CPU lists, such as `0-2,48-50` or lscpu's `0-62:2`."""

import re

PART = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6})(?::([0-9]{1,6}))?)?")
MAX_CPUS = 8192  # the largest NR_CPUS that the kernel can be built with


def parse(text: str) -> list[int]:
    """CPU numbers in order; parts that are not numbers are left out."""
    cpus: set[int] = set()
    for part in text.strip().split(","):
        if match := PART.fullmatch(part.strip()):
            first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            cpus.update(range(first, min(last, first + MAX_CPUS) + 1, step or 1))
    return sorted(cpus)
