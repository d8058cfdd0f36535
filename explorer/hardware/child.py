"""What a child process that asks a framework does: it prints each group of answers as soon as it has them."""

import json
from collections.abc import Callable, Mapping

from explorer.hardware.answers import missing
from explorer.schemas.readings import Reading

MAX_REASON_CHARS = 200
Groups = Mapping[Callable[[], dict[str, Reading]], tuple[str, ...]]


def answer(groups: Groups) -> None:
    """Print one JSON object of readings a line and group; what raises costs only its own group's names a reason."""
    for ask, names in groups.items():
        try:
            answers = ask()
        except Exception as error:  # a broken install raises anything
            answers = dict.fromkeys(names, missing(first_line(error)))
        line = json.dumps({name: reading.model_dump(mode="json") for name, reading in answers.items()})
        print(line, flush=True)  # noqa: T201 - the parent reads it


def first_line(error: BaseException) -> str:
    """An error as "Kind: first line of its message"."""
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return text if len(text) <= MAX_REASON_CHARS else f"{text[: MAX_REASON_CHARS - 1]}…"
