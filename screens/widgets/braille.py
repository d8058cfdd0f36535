"""Dots on a grid of braille signs: two dots wide and four high in each cell."""

from collections.abc import Iterator

# Bit of the dot at (row, column) within a cell, by Unicode's numbering of braille dots.
BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BLANK = 0x2800
TOP = 0x01 | 0x08 | 0x02 | 0x10
BOTTOM = 0x04 | 0x20 | 0x40 | 0x80


class Dots:
    """A canvas of `width` x `height` cells; (0, 0) is the dot at the top left."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.cells = [bytearray(width) for _ in range(height)]

    def dot(self, x: int, y: int) -> None:
        """Set one dot; outside the canvas nothing happens."""
        if 0 <= x < self.width * 2 and 0 <= y < self.height * 4:
            self.cells[y >> 2][x >> 1] |= BITS[y & 3][x & 1]

    def line(self, start: tuple[int, int], end: tuple[int, int], dotted: bool = False) -> None:
        """A straight line of dots; a dotted one leaves out two columns of four."""
        for x, y in _between(start, end):
            if not dotted or x % 4 < 2:
                self.dot(x, y)

    def column(self, x: int, top: int) -> None:
        """Fill a column of dots from `top` down to the bottom."""
        for y in range(max(0, top), self.height * 4):
            self.dot(x, y)


def _between(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Points from start to end with a step of one along the longer way."""
    (x0, y0), (x1, y1) = start, end
    steps = max(abs(x1 - x0), abs(y1 - y0))
    if not steps:
        yield start
    for step in range(steps + 1 if steps else 0):
        yield round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)


def sign(mask: int, ascii_only: bool, second: bool = False) -> str:
    """The character of a cell; in ASCII a mark for upper half, lower half or both, another one for a second series."""
    if not mask:
        return " "
    if not ascii_only:
        return chr(BLANK | mask)
    if second:
        return "o"
    return "'" if not mask & BOTTOM else "." if not mask & TOP else ":"
