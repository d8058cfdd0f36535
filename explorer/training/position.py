"""Where a training is."""

from dataclasses import dataclass

from explorer.training.guards import Place


@dataclass
class Position:
    """Steps done, the epoch under way from 0, and how many of its batches are done."""

    step: int = 0
    epoch: int = 0
    batch: int = 0

    @property
    def place(self) -> Place:
        """The step and batch under way, as people count."""
        return Place(self.step + 1, self.epoch + 1, self.batch + 1)

    @property
    def before(self) -> Place:
        """The step and batch last done."""
        return Place(self.step, self.epoch + 1, self.batch)
