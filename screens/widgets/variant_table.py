"""Rows of the Lab's table: a model with real bytes, accuracy and measured speed."""

from __future__ import annotations

from textual.content import Content

from screens.job_words import short_id
from screens.text import NONE, bytes_, percent
from screens.variants import Model

SIZE_ROOM, RATIO_ROOM, ACCURACY_ROOM, SPEED_ROOM, VERDICT_ROOM, ID_ROOM = 8, 6, 9, 18, 13, 6
MARK_ROOM = 2
VERDICT_STYLES = {
    "faster": "$success",
    "slower": "$error",
    "too noisy": "$warning",
    "no difference": "$muted",
    "baseline": "$muted",
}


def column_names(width: int) -> Content:
    """The heading over the table."""
    text = (
        f"{'variant':<{_name_room(width)}}{'bytes':>{SIZE_ROOM}}{'size':>{RATIO_ROOM}}{'accuracy':>{ACCURACY_ROOM}}"
        f"{'speed [95 %]':>{SPEED_ROOM}} {'verdict':<{VERDICT_ROOM}}"
    )
    return Content.assemble(" " * MARK_ROOM, (text, "$muted"))


def model_row(model: Model, marked: bool, width: int) -> Content:
    """One model; the name is indented below the model that it was made from."""
    room = _name_room(width)
    name = Content(f"{'  ' * min(model.depth, 6)}{model.name}").truncate(room - 1, ellipsis=True)
    size = NONE if model.size_ratio is None else f"{model.size_ratio:.2f}"
    accuracy = percent(model.accuracy, 2)
    figures = f"{bytes_(model.bytes):>{SIZE_ROOM}}{size:>{RATIO_ROOM}}{accuracy:>{ACCURACY_ROOM}}"
    return Content.assemble(
        ("● " if marked else "  ", "$primary"),
        name.plain.ljust(room),
        figures,
        *_speed(model),
        (f"{short_id(model.job.id):>{ID_ROOM}}" if _has_ids(width) else "", "$muted"),
    )


def _speed(model: Model) -> tuple[str | tuple[str, str], ...]:
    if model.measured is None:
        return (f"{NONE if model.can_benchmark else '':>{SPEED_ROOM}} {'':<{VERDICT_ROOM}}",)
    verdict = model.measured.verdict
    speed = model.measured.speed_ratio
    text = f"{speed.value:.2f} [{speed.low:.2f}, {speed.high:.2f}]"
    return f"{text:>{SPEED_ROOM}} ", (f"{verdict:<{VERDICT_ROOM}}", VERDICT_STYLES[verdict])


def _name_room(width: int) -> int:
    taken = MARK_ROOM + SIZE_ROOM + RATIO_ROOM + ACCURACY_ROOM + SPEED_ROOM + 1 + VERDICT_ROOM
    return max(12, min(48, width - taken - (ID_ROOM if _has_ids(width) else 0)))


def _has_ids(width: int) -> bool:
    return width >= 90
