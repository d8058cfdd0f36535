"""Where live readings come from: each source by itself, so that one which raises or hangs costs its own readings only."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from explorer.hardware.answers import missing
from explorer.schemas.readings import Reading, ReadingState

Readings = dict[str, Reading]
# Most answers come within this time, and a sample every second can spare it.
PATIENCE_S = 0.2
LIMIT_S = 3.0


def guarded(ask: Callable[[], Any], library: str = "psutil") -> Any:
    """The answer, or text saying why there is none."""
    try:
        return ask()
    except Exception as error:  # psutil raises RuntimeError, SystemError, OSError and its own
        return f"{library}: {type(error).__name__}: {error}"


class Source:
    """Readings under fixed names, given with their units as `{name: unit}`. Never raises."""

    def __init__(self, read: Callable[[], Readings], units: Mapping[str, str]) -> None:
        self._read = read
        self._units = units

    def __call__(self) -> Readings:
        """Every name of this source, missing with the reason where there is no value."""
        try:
            return {**self.missing("this system does not say"), **self._read()}
        except Exception as error:  # a reader of a system that nobody has seen yet
            return self.missing(f"{type(error).__name__}: {error}")

    def missing(self, reason: str, pending: bool = False) -> Readings:
        """All names without a value."""
        state: ReadingState = "pending" if pending else "absent"
        return {name: missing(reason, unit=unit, state=state) for name, unit in self._units.items()}


class SlowSource:
    """A source asked in a thread of its own: a sample waits `patience_s` at most, and not at all while it hangs."""

    def __init__(self, source: Source, name: str, patience_s: float = PATIENCE_S, limit_s: float = LIMIT_S) -> None:
        self._source = source
        self._name = name
        self._patience_s = patience_s
        self._limit_s = limit_s
        self._asking: threading.Thread | None = None
        self._asked_s = 0.0
        self._answer: Readings = {}

    def __call__(self) -> Readings:
        """The answer to this or an earlier question; pending, then absent, while none has come."""
        if self._asking is None:
            self._asked_s = time.monotonic()
            self._asking = threading.Thread(target=self._ask, name=f"live {self._name}", daemon=True)
            self._asking.start()
            self._asking.join(self._patience_s)
        if self._asking.is_alive():
            pending = time.monotonic() - self._asked_s < self._limit_s
            reason = "has not answered yet" if pending else f"gave no answer within {self._limit_s:g} s"
            return self._source.missing(f"{self._name} {reason}", pending)
        self._asking = None
        return self._answer

    def _ask(self) -> None:
        self._answer = self._source()
