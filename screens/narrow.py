"""Updates of the terminal that begin where the change begins; Textual's own repeat each row from the left edge of its widget."""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor


class NarrowUpdate(ChopsUpdate):
    """The same cells as `ChopsUpdate`, cut on the left, too."""

    def render_segments(self, console: Console) -> str:
        """What is written to the terminal: for each changed span, a move to it and its cells."""
        parts: list[str] = []
        for y, first, after in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                start, stop = max(x, first), min(end, after)
                if strip is not None and start < stop:
                    parts += [Control.move_to(start, y).segment.text, strip.crop(start - x, stop - x).render(console)]
        return "".join(parts)


class NarrowCompositor(Compositor):
    """A screen's compositor whose partial updates are narrow."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        return NarrowUpdate(update.chops, update.spans, update.chop_ends) if update is not None else None
