"""The options after a data set's name, read and checked."""

from typing import Literal

from explorer.errors import ExplorerError
from explorer.schemas.data_source import OPTIONS, DataSource

Task = Literal["classification", "regression"]
VALIDATION_SHARE = 0.2
VALIDATION_MAX = 0.9
SIZE_MAX = 4096


def check_options(source: DataSource, *allowed: str) -> None:
    """Raise `ExplorerError` for an option that has no part in this kind of data."""
    for name in source.options:
        if name not in allowed:
            raise ExplorerError(
                f"{source}: {name}= has no part in such data", f"it is {OPTIONS[name].partition(';')[0]}; leave it out"
            )


def validation_share(source: DataSource) -> float:
    """The share of samples to hold out, 0.2 unless said."""
    text = source.options.get("validation")
    if text is None:
        return VALIDATION_SHARE
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= VALIDATION_MAX:
        raise ExplorerError(f"{source}: validation={text} is no share from 0 to {VALIDATION_MAX}", "give such as validation=0.2")
    return share


def task(source: DataSource) -> Task | None:
    """What the targets are, where the user says so."""
    text = source.options.get("task")
    if text is None or text == "classification" or text == "regression":
        return text  # type: ignore[return-value] # narrowed by the comparisons, which mypy does not follow
    raise ExplorerError(f"{source}: there is no task {text!r}", "task=classification or task=regression")


def image_size(source: DataSource) -> int | None:
    """The side that images are scaled to, in pixels."""
    text = source.options.get("size")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= SIZE_MAX):
        raise ExplorerError(f"{source}: size={text} is no number of pixels", f"give 1 to {SIZE_MAX}, such as size=64")
    return int(text)
