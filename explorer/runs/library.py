"""Runs kept in memory between questions, so that zooming reads nothing again."""

from collections import OrderedDict

from explorer.runs.find import Found
from explorer.runs.sources import OpenRun

KEPT_BYTES = 2**30


class Library:
    """Open runs by what they read; the longest unused go when all hold too many bytes. Those in `pinned` stay."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._runs: OrderedDict[Found, OpenRun] = OrderedDict()

    def open(self, found: Found) -> OpenRun:
        """The run, up to date."""
        run = self._runs.pop(found, None) or OpenRun(found)
        self._runs[found] = run
        run.refresh()
        return run

    def shrink(self, pinned: set[Found]) -> None:
        """Forget runs until the rest fits; the one used last always stays."""
        held = sum(run.history.bytes for run in self._runs.values())
        for found in list(self._runs)[:-1]:
            if held <= self._kept_bytes:
                return
            if found not in pinned:
                held -= self._runs.pop(found).history.bytes
