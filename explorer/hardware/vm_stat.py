"""`vm_stat` text of macOS: the way to memory figures that needs no structure whose size changes between releases."""

import re

PAGE_SIZE = re.compile(r"page size of (\d{1,9}) bytes")
PAGES = re.compile(r"^\"?([A-Za-z][^:\"]*)\"?:\s+(\d{1,18})\.?$", re.MULTILINE)


def available_bytes(text: str) -> int | None:
    """Free and inactive pages in bytes, the sum that psutil calls available on macOS; None when the text holds neither."""
    size = PAGE_SIZE.search(text)
    pages = {match[1].strip(): int(match[2]) for match in PAGES.finditer(text)}
    if size is None or "Pages free" not in pages or "Pages inactive" not in pages:
        return None
    return int(size[1]) * (pages["Pages free"] + pages["Pages inactive"])
