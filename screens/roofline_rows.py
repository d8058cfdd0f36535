"""The roofline of a device in braille on logarithmic axes: what its rates and its bandwidth allow; no widget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from explorer.schemas.results import CeilingsResult
from screens.ceiling_words import bandwidth, of_device
from screens.text import ascii_only, number, rate
from screens.widgets.braille import Dots, sign

LABEL_ROOM = 10
STYLES = ("$primary", "$series-2", "$foreground")
MOST_LINES = 3


@dataclass(frozen=True)
class Curve:
    """A limit: `peak` operations a second, `bytes_per_s` of memory traffic, measured or (dotted) published."""

    name: str
    peak: float
    bytes_per_s: float
    dotted: bool = False

    @property
    def ridge(self) -> float:
        """Operations a byte from which the rate, no longer the memory, is the limit."""
        return self.peak / self.bytes_per_s


def roofs(result: CeilingsResult | None, device: str, published_bytes_per_s: float | None = None) -> list[Curve]:
    """One roof a dtype, highest first, each below the same measured bandwidth, and the published bandwidth last."""
    measured = bandwidth(result, device)
    rates = sorted(of_device(result, device, "matmul"), key=lambda item: -item.value)[:MOST_LINES]
    if measured is None or measured.value <= 0 or not rates or rates[-1].value <= 0:
        return []
    found = [Curve(item.dtype, item.value, measured.value) for item in rates]
    if published_bytes_per_s:
        found.append(Curve("published bandwidth", found[0].peak, published_bytes_per_s, dotted=True))
    return found


def roofline_rows(found: Sequence[Curve], width: int, height: int) -> list[Content]:
    """The drawing in `height` rows of `width` columns: title, plot, axis; nothing when there is no room or no roof."""
    if not found or width < 40 or height < 6:
        return []
    plot = _Plot(found, width - LABEL_ROOM, height - 3)
    title = Content.assemble(("roofline", "bold"), ("  operations per second over operations per byte", "$muted"))
    return [title, *plot.rows(), *plot.axis()]


class _Plot:
    """A raster with logarithmic axes around all ridges."""

    def __init__(self, found: Sequence[Curve], width: int, height: int) -> None:
        self.found = found
        self.width, self.height = width, height
        ridges = [roof.ridge for roof in found]
        self.left = math.floor(math.log2(min(ridges)) - 3)
        self.right = math.ceil(math.log2(max(ridges)) + 4)
        self.top = math.log10(max(roof.peak for roof in found)) + 0.4
        self.bottom = math.log10(min(roof.bytes_per_s for roof in found)) + self.left * math.log10(2)

    def rows(self) -> list[Content]:
        """The curves with their names; the highest keeps its colour where two meet."""
        cells = [[(" ", "")] * self.width for _ in range(self.height)]
        styles = {roof: "$muted" if roof.dotted else STYLES[place % len(STYLES)] for place, roof in enumerate(self.found)}
        for roof in self.found:
            self._paint(cells, self._line(roof), styles[roof], roof.dotted)
        measured = [roof for roof in self.found if not roof.dotted]
        for roof in measured:
            x, y = self._dot(math.log2(roof.ridge), roof)
            cells[y // 4][x // 2] = (_ridge_mark(), cells[y // 4][x // 2][1])
        for roof in measured:
            self._name(cells, roof, styles[roof])
        return [self._row(y, row) for y, row in enumerate(cells)]

    def axis(self) -> list[Content]:
        """The ticks of the x axis, and the memory in words."""
        line = [" "] * self.width
        step = 2 if (self.right - self.left) * 7 <= self.width * 2 else 4
        for power in range(self.left + self.left % 2, self.right + 1, step):
            text = f"{2**power}" if power >= 0 else f"1/{2**-power}"
            start = min(self.width - len(text), round(self._share(power) * (self.width - 1)))
            if all(cell == " " for cell in line[max(0, start - 1) : start + len(text)]):
                line[start : start + len(text)] = text
        published = [
            f"{'o' if ascii_only() else '┄'} published {rate(roof.bytes_per_s, 'B/s')}" for roof in self.found if roof.dotted
        ]
        said = [f"memory copy {rate(self.found[0].bytes_per_s, 'B/s')}", *published, f"{_ridge_mark()} operations per byte"]
        words = Content.assemble((" · ".join(said), "$muted")).truncate(self.width + LABEL_ROOM, ellipsis=True)
        return [Content.assemble(" " * LABEL_ROOM, ("".join(line), "$muted")), words]

    def _line(self, roof: Curve) -> Dots:
        """Up to the ridge along the memory, from there on level; a published one only up to its ridge."""
        dots = Dots(self.width, self.height)
        ridge = self._dot(math.log2(roof.ridge), roof)
        dots.line(self._dot(self.left, roof), ridge, roof.dotted)
        if not roof.dotted:
            dots.line(ridge, self._dot(self.right, roof))
        return dots

    def _share(self, power: float) -> float:
        return (power - self.left) / (self.right - self.left)

    def _dot(self, power: float, roof: Curve) -> tuple[int, int]:
        allowed = min(roof.peak, roof.bytes_per_s * 2.0**power)
        height = (math.log10(allowed) - self.bottom) / (self.top - self.bottom)
        return round(self._share(power) * (self.width * 2 - 1)), round((1 - height) * (self.height * 4 - 1))

    def _paint(self, cells: list[list[tuple[str, str]]], dots: Dots, style: str, second: bool) -> None:
        for y, row in enumerate(dots.cells):
            for x, mask in enumerate(row):
                if mask and not cells[y][x][1]:
                    cells[y][x] = (sign(mask, ascii_only(), second), style)

    def _name(self, cells: list[list[tuple[str, str]]], roof: Curve, style: str) -> None:
        """The roof's name, rate and ridge at its right end, above its line, or below where something else stands."""
        value = rate(roof.peak, "OP/s" if "int" in roof.name else "FLOP/s")
        text = f"{roof.name} {value}  {_ridge_mark()} {number(float(f'{roof.ridge:.2g}'))}"
        line = self._dot(self.right, roof)[1] // 4
        for y in (line - 1, line + 1):
            start = self.width - len(text)
            if 0 <= y < self.height and start > 0 and all(cell[0] == " " for cell in cells[y][start - 1 :]):
                cells[y][start:] = [(letter, style) for letter in text]
                return

    def _row(self, y: int, row: list[tuple[str, str]]) -> Content:
        parts: list[str | tuple[str, str]] = [(f"{self._tick(y):>{LABEL_ROOM - 1}} ", "$muted")]
        start = 0
        for place in range(1, len(row) + 1):
            if place == len(row) or row[place][1] != row[start][1]:
                parts.append(("".join(cell[0] for cell in row[start:place]), row[start][1]))
                start = place
        return Content.assemble(*parts)

    def _tick(self, y: int) -> str:
        """A power of ten whose line runs through this row."""
        for power in range(math.ceil(self.bottom), math.floor(self.top) + 1):
            height = (power - self.bottom) / (self.top - self.bottom)
            if round((1 - height) * (self.height * 4 - 1)) // 4 == y:
                return rate(10.0**power, "").strip().replace(".00", "").replace(".0", "") + "OP/s"
        return ""


def _ridge_mark() -> str:
    return "+" if ascii_only() else "◆"
