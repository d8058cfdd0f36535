"""Short ways to make a reading, so that no caller forgets the reason."""

from typing import Any

from explorer.schemas.readings import Reading, ReadingState


def known(value: Any, source: str, unit: str = "", reason: str = "") -> Reading:
    """A value that was read; `reason` may add a caveat."""
    return Reading(value=value, unit=unit, source=source, reason=reason)


def estimated(value: Any, source: str, unit: str = "", reason: str = "") -> Reading:
    """A published or derived value, not read from this machine."""
    return Reading(value=value, unit=unit, source=source, state="estimated", reason=reason)


def missing(reason: str, source: str = "", unit: str = "", state: ReadingState = "absent") -> Reading:
    """No value, and why."""
    return Reading(unit=unit, source=source, state=state, reason=reason)


def found(value: Any, source: str, reason: str, unit: str = "") -> Reading:
    """`value` as a known reading, or a missing one with `reason` when it is None, empty text or an empty list."""
    return missing(reason, source, unit) if value is None or value in ("", []) else known(value, source, unit)
