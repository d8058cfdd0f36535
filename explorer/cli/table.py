"""Aligned columns of plain text."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Rows as aligned lines; the columns in `right` are set flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            _cell(text, width, column in right) for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cell(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)
