"""From curves to characters: the dots of a curve, the cells of several, and which of them changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from screens.widgets.braille import BITS, Dots, sign
from screens.widgets.scales import Window
from screens.widgets.trace import Trace

Cell = tuple[str, str]  # a character and its style
LETTER_EVERY = 24
LETTER_SHIFT = 3
SPAN_GAP = 8  # unchanged cells between two changed ones that are cheaper to send than to step over
FAINT = "$faint"


@dataclass(frozen=True)
class Look:
    """What tells a curve from others: its letter rides on it, a held-out one is dotted; colour comes on top."""

    letter: str = ""
    style: str = "$primary"
    dotted: bool = False
    place: int = 0

    def mark(self, ascii_only: bool) -> str:
        """What stands for it in the legend."""
        line = ("o" if self.dotted else "-") if ascii_only else ("┄" if self.dotted else "─")
        return self.sign or line

    @property
    def sign(self) -> str:
        """Its letter, a small one for a dotted curve."""
        return self.letter.lower() if self.dotted else self.letter


@dataclass(frozen=True)
class Drawn:
    """A curve with its dots."""

    dots: Dots
    look: Look
    trace: Trace
    faint: bool = False


def dot_row(value: float, scale: Window, rows: int) -> int:
    """The row of a value among `rows` of dots, at the edge when outside."""
    low, high = scale
    share = (value - low) / (high - low)
    return int((1 - min(1.0, max(0.0, share))) * (rows - 1) + 0.5)


def draw_trace(trace: Trace, dotted: bool, dots: Dots, scale: Window, since: int = 0) -> int:
    """A continuous line through the columns from `since` on, each as high as what fell into it; gives the first one drawn in."""
    last_row, (low, high) = dots.height * 4 - 1, scale
    rows_per_y = last_row / (high - low)

    def row(value: float) -> int:
        place = int((high - value) * rows_per_y + 0.5)
        return 0 if place < 0 else last_row if place > last_row else place

    places = sorted(place for place in trace.columns if place >= since)
    earlier = max((place for place in trace.columns if place < since), default=None) if since else None
    before = None if earlier is None else (earlier, row(trace.columns[earlier].last))
    for x in places:
        column = trace.columns[x]
        top, bottom = row(column.high), row(column.low)
        if before is not None and not column.gap:
            if x - before[0] > 1:
                dots.line(before, (x, row(column.first)), dotted)
            elif before[1] < top:
                top = before[1] + 1
            elif before[1] > bottom:
                bottom = before[1] - 1
        if not dotted or x % 4 < 2 or before is None:
            _fill(dots, x, top, bottom)
        before = (x, row(column.last))
    return since if earlier is None else earlier


@dataclass(frozen=True)
class Frame:
    """The room for the curves and what is common to them."""

    width: int
    height: int
    scale: Window
    cursor: int | None = None
    ascii_only: bool = False


def composed(curves: Sequence[Drawn], frame: Frame, known: list[list[Cell]] | None = None, since: int = 0) -> list[list[Cell]]:
    """Each cell's sign and style: the first curve keeps its colour where two meet, faint ones show where no other is.

    With `known` cells, those left of the column `since` are taken from there.
    """
    blank: list[Cell] = [(" ", "")] * (frame.width - since)
    cells = [(known[y][:since] if known else []) + blank for y in range(frame.height)]
    masks = [bytearray(frame.width) for _ in range(frame.height)]
    lettered = sum(bool(curve.look.letter) for curve in curves) > 1
    for place, curve in enumerate(curves):
        _add_curve(cells, masks, curve, since, frame.ascii_only, second=place > 0, spelled=lettered)
    if lettered and not frame.ascii_only:
        _place_letters(cells, curves, frame, since)
    if frame.cursor is not None and frame.cursor >= since:
        _place_cursor(cells, frame.cursor, frame.ascii_only)
    return cells


def _add_curve(
    cells: list[list[Cell]], masks: list[bytearray], curve: Drawn, since: int, ascii_only: bool, second: bool, spelled: bool
) -> None:
    """Put a curve over those before it; in ASCII one of several is written in its letter."""
    style = FAINT if curve.faint else curve.look.style
    for row, mask_row, dots in zip(cells, masks, curve.dots.cells, strict=True):
        for x in range(max(since, len(dots) - len(dots.lstrip(b"\0"))), len(dots.rstrip(b"\0"))):
            if not dots[x] or (curve.faint and mask_row[x]):
                continue
            mask_row[x] |= dots[x]
            known = row[x][1]
            if ascii_only and spelled and not curve.faint:
                row[x] = row[x] if known else (curve.look.sign, style)
            else:
                row[x] = (sign(mask_row[x], ascii_only, second and not curve.faint), known or style)


def changed_cells(old: Sequence[Sequence[Cell]], new: Sequence[Sequence[Cell]]) -> list[tuple[int, int, int]]:
    """Each changed span: its row, its first column and the one after the last; far spans of a row stay apart."""
    if len(old) != len(new) or any(len(before) != len(after) for before, after in zip(old, new, strict=True)):
        return [(y, 0, len(row)) for y, row in enumerate(new)]
    spans: list[tuple[int, int, int]] = []
    for y, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after:
            continue
        for x, (one, other) in enumerate(zip(before, after, strict=True)):
            if one == other:
                continue
            if spans and spans[-1][0] == y and x - spans[-1][2] <= SPAN_GAP:
                spans[-1] = (y, spans[-1][1], x + 1)
            else:
                spans.append((y, x, x + 1))
    return spans


def _fill(dots: Dots, x: int, top: int, bottom: int) -> None:
    """Set the dots of a column from `top` to `bottom`."""
    cell, side = x >> 1, x & 1
    for y in range(top, bottom + 1):
        dots.cells[y >> 2][cell] |= BITS[y & 3][side]


def _place_letters(cells: list[list[Cell]], curves: Sequence[Drawn], frame: Frame, since: int) -> None:
    """Letters ride on their curves at fixed columns, so that they stay where they are while the curve grows."""
    for curve in curves:
        if curve.look.letter and not curve.faint:
            first = (LETTER_SHIFT * curve.look.place + 2 + 12 * curve.look.dotted) % LETTER_EVERY
            for x in range(first, frame.width, LETTER_EVERY):
                y = _row_of(curve, x, frame) if x >= since else None
                if y is not None:
                    cells[y][x] = (curve.look.sign, f"bold {curve.look.style}")


def _row_of(curve: Drawn, x: int, frame: Frame) -> int | None:
    """The row of cells in which a curve passes a column of cells: at its last value there, else where its line is."""
    column = curve.trace.columns.get(2 * x + 1) or curve.trace.columns.get(2 * x)
    if column is not None:
        return min(frame.height - 1, dot_row(column.last, frame.scale, frame.height * 4) >> 2)
    return next((y for y in range(frame.height) if curve.dots.cells[y][x]), None)


def _place_cursor(cells: list[list[Cell]], x: int, ascii_only: bool) -> None:
    """A line through what is empty or faint; the curves that it crosses are shown in reverse."""
    for row in cells:
        character, style = row[x]
        row[x] = (character, f"reverse {style}") if style not in ("", FAINT) else ("|" if ascii_only else "│", "$muted")
