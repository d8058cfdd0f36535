"""Whether the Neural Engine is on. No system counts its use, so there is no percentage."""

from collections.abc import Callable
from typing import Any

from explorer.hardware import ioreg
from explorer.hardware.answers import known, missing
from explorer.hardware.live_source import Readings
from explorer.hardware.macos import COMMANDS
from explorer.hardware.readers import Text, output_of
from explorer.schemas.readings import Reading

UNITS = {"ane.state": ""}
SOURCE = "ioreg H11ANEIn CurrentPowerState"
LIMIT_S = 1.0


def mac_ane(run: Callable[[tuple[str, ...]], Text] = lambda command: output_of(command, LIMIT_S)) -> Readings:
    """`ane.state` as `ioreg` prints it now."""
    return {"ane.state": state(run(COMMANDS["neural_engine"]))}


def state(text: Text) -> Reading:
    """ "on" when any engine is above power state 0, else "idle"; an M6 has two engines."""
    engines = ioreg.nodes(text.text)
    states = [level for node in engines if (level := _level(node)) is not None]
    if states:
        return known("on" if max(states) > 0 else "idle", SOURCE)
    return missing("the Neural Engine tells no power state" if engines else text.reason, SOURCE)


def _level(node: dict[str, Any]) -> int | None:
    management = node.get("IOPowerManagement")
    level = management.get("CurrentPowerState") if isinstance(management, dict) else None
    return level if isinstance(level, int) and not isinstance(level, bool) else None
