"""Reporters that act as a person at the keyboard would."""

from pathlib import Path

from explorer.errors import Cancelled
from explorer.reporter import NO_ORDERS, Orders, QuietReporter


class Scripted(QuietReporter):
    """Cancels at the `cancel_at`-th call of `control` and asks for a checkpoint at the `checkpoint_at`-th (from 1)."""

    def __init__(self, folder: Path, *, cancel_at: int = 0, checkpoint_at: int = 0) -> None:
        super().__init__(folder)
        self.cancel_at = cancel_at
        self.checkpoint_at = checkpoint_at
        self.calls = 0
        self.steps_done: list[tuple[float, float | None]] = []

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        super().progress(done, total, message, unit, seconds_left)
        self.steps_done.append((done, total))

    def control(self) -> Orders:
        self.calls += 1
        if self.calls == self.cancel_at:
            raise Cancelled
        return Orders(checkpoint=True) if self.calls == self.checkpoint_at else NO_ORDERS

    def column(self, name: str) -> dict[int, float]:
        """A metric's values by step."""
        return {
            step: value
            for steps, values in self.metrics
            if name in values
            for step, value in zip(steps, values[name], strict=True)
        }
