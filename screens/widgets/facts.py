"""Labels and values in columns of equal width."""

from collections.abc import Sequence

from textual.events import Resize

from screens.widgets.lines import Lines

GAP = "   "
COLUMN_WIDTH = 22


class Facts(Lines):
    """Each fact has its label on the left and its value on the right of a column; as many columns as fit, three at most."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._facts: list[tuple[str, str]] = []

    def set_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show these facts."""
        self._facts = list(facts)
        self._lay_out()

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.content_size.width
        columns = max(1, min(3, (width + len(GAP)) // (COLUMN_WIDTH + len(GAP))))
        self.show(fact_rows(self._facts, width, columns))


def fact_rows(facts: list[tuple[str, str]], width: int, columns: int) -> list[str]:
    """Facts in columns, label left and value right in each."""
    room = max(12, (width - len(GAP) * (columns - 1)) // columns)
    cells = [fact_cell(label, value, room) for label, value in facts]
    height = -(-len(cells) // columns)
    return [GAP.join(cells[row::height]) for row in range(height)]


def fact_cell(label: str, value: str, room: int) -> str:
    """A label and, right-aligned, its value, in exactly `room` characters; a long value pushes the label out."""
    value = value if len(value) <= room else value[: room - 1] + "…"
    return f"{label[: max(0, room - len(value) - 1)]:<{room - len(value)}}{value}"
