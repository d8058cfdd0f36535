"""What the columns of people's logs mean: which counts steps, which tells the time, which names a part, and which are metrics."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

STEP_NAMES = (
    "global_step",
    "_step",
    "step",
    "steps",
    "iteration",
    "iter",
    "iters",
    "total_timesteps",
    "time/total_timesteps",
    "update",
    "batch",
)
# The names that tell a log from any other table.
TELLING_NAMES = frozenset(
    {"global_step", "_step", "step", "steps", "iteration", "iter", "time/total_timesteps", "epoch", "epochs"}
)
EPOCH_NAMES = ("epoch", "epochs", "round")
TIME_NAMES = (
    "wall_time",
    "wall time",
    "walltime",
    "_timestamp",
    "timestamp",
    "time",
    "datetime",
    "date",
    "created_at",
    "created",
)
PART_NAMES = ("split", "phase", "mode", "stage", "subset")
TAG_NAMES = ("tag", "metric", "metric_name", "name", "key")
VALUE_NAMES = ("value", "metric_value", "val")

# Unix seconds of 1973 and of 5138: smaller numbers are durations, larger ones milliseconds or finer.
EARLIEST_S, LATEST_S = 1e8, 1e11


def first_of(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """The name that counts most among `wanted`, in any case of letters."""
    by_lower = {name.strip().lower(): name for name in reversed(list(names))}
    return next((by_lower[name] for name in wanted if name in by_lower), None)


def is_step_like(name: str) -> bool:
    return name.strip().lower() in {*STEP_NAMES, *EPOCH_NAMES}


def unix_seconds(value: object) -> float:
    """A moment as Unix seconds, from seconds, milliseconds or finer, or an ISO text; NaN for all else, such as a duration."""
    if isinstance(value, str):
        return _seconds_of_text(value)
    if not isinstance(value, int | float) or not value >= EARLIEST_S:
        return float("nan")
    seconds = float(value)
    while LATEST_S <= seconds < float("inf"):
        seconds /= 1000.0
    return seconds


def number(text: str) -> float | None:
    """The number in a cell; None for an empty cell or words."""
    try:
        return float(text)
    except ValueError:
        return None


def flattened(record: Mapping[str, Any], prefix: str = "", depth: int = 8) -> dict[str, Any]:
    """Nested dictionaries as one, keys joined by slashes; lists are passed over."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            if depth:
                flat.update(flattened(value, f"{prefix}{key}/", depth - 1))
        elif not isinstance(value, list):
            flat[f"{prefix}{key}"] = value
    return flat


def _seconds_of_text(text: str) -> float:
    plain = number(text)
    if plain is not None:
        return unix_seconds(plain)
    try:
        return datetime.fromisoformat(text.strip().replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("nan")
