"""The numbers of one tensor in words, and their histogram in braille; no widget."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from explorer.schemas.model_results import TensorValues
from screens.result_words import heading, wrapped
from screens.text import ascii_only, count, number, percent
from screens.widgets.braille import Dots, sign

HISTOGRAM_ROWS = 4
LEAST_WIDTH = 20


def value_rows(values: TensorValues, width: int, rows: int = HISTOGRAM_ROWS) -> list[Content]:
    """Range, moments, zeros, what is not finite, and the histogram `rows` high."""
    if not values.elements:
        return [heading("VALUES"), Content.assemble(("it holds none", "$muted"))]
    return [heading("VALUES"), *_figures(values, width), *_bad(values, width), *histogram_rows(values, width, rows)]


def histogram_rows(values: TensorValues, width: int, rows: int = HISTOGRAM_ROWS) -> list[Content]:
    """A column of dots for each share of the range, and the range below; nothing without room or finite values."""
    counts = values.histogram
    if not counts or not values.edges or width < LEAST_WIDTH or max(counts) == 0:
        return []
    dots = Dots(width, rows)
    heights = _heights(counts, width * 2, rows * 4)
    for x, height in enumerate(heights):
        if height:
            dots.column(x, rows * 4 - height)
    low, high = number(values.edges[0]), number(values.edges[-1])
    drawn = [Content.assemble(("".join(sign(mask, ascii_only()) for mask in row), "$primary")) for row in dots.cells]
    return [*drawn, Content.assemble((f"{low}{high:>{max(0, width - len(low))}}", "$muted"))]


def _heights(counts: Sequence[int], columns: int, most: int) -> list[int]:
    """Dots a column; a bin that holds anything keeps one."""
    peak = max(counts)
    spread = [counts[x * len(counts) // columns] for x in range(columns)]
    return [max(1, round(found / peak * most)) if found else 0 for found in spread]


def _figures(values: TensorValues, width: int) -> list[Content]:
    facts = [
        ("min", values.minimum),
        ("max", values.maximum),
        ("mean", values.mean),
        ("std", values.std),
        ("norm", values.norm),
    ]
    said = [(name, number(value)) for name, value in facts if value is not None]
    zeros = f"{count(values.zeros)} ({percent(values.zeros / values.elements, 1)})" if values.zeros else "0"
    return _laid_out([*said, ("zeros", zeros)], width)


def _bad(values: TensorValues, width: int) -> list[Content]:
    if not values.nans and not values.infinities:
        return [Content.assemble(("✓ every value is finite", "$success"))]
    words = f"{count(values.nans)} NaN, {count(values.infinities)} infinite of {count(values.elements)}"
    return wrapped(Content.assemble(("✗ ", "bold $error"), (words, "bold")), width, "  ")


def _laid_out(facts: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """Two facts a row where they fit, each label beside its value."""
    cells = [Content.assemble((f"{name:<6}", "$muted"), value) for name, value in facts]
    room = width // 2
    if any(cell.cell_length >= room for cell in cells):
        return cells
    pairs = [cells[place : place + 2] for place in range(0, len(cells), 2)]
    return [Content.assemble(*(cell.pad_right(room - cell.cell_length) for cell in pair)) for pair in pairs]
