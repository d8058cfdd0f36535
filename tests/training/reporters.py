"""Reporters that act as a person at the keyboard would, or as the power cut."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from explorer.errors import Cancelled
from explorer.reporter import NO_ORDERS, Orders, QuietReporter
from explorer.schemas.events import Severity

# Clocks and memory say something else each time.
MEASURED = {"samples_per_s", "data_ms", "forward_ms", "backward_ms", "optimizer_ms", "rss_bytes", "device_bytes"}


class Scripted(QuietReporter):
    """Cancels at the `cancel_at`-th call of `control` and gives `orders` by call (from 1); `checkpoint_at` is short for one."""

    def __init__(
        self, folder: Path, *, cancel_at: int = 0, checkpoint_at: int = 0, orders: Mapping[int, Orders] | None = None
    ) -> None:
        super().__init__(folder)
        self.cancel_at = cancel_at
        self.orders = {checkpoint_at: Orders(checkpoint=True)} | dict(orders or {})
        self.calls = 0
        self.steps_done: list[tuple[float, float | None]] = []
        self.seconds_left: list[float | None] = []
        self.said: list[tuple[str, str]] = []

    def progress(
        self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
    ) -> None:
        super().progress(done, total, message, unit, seconds_left)
        self.steps_done.append((done, total))
        self.seconds_left.append(seconds_left)

    def finding(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        super().finding(severity, title, evidence, remedy)
        self.said.append((title, evidence))

    def control(self) -> Orders:
        self.calls += 1
        if self.calls == self.cancel_at:
            raise Cancelled
        return self.orders.get(self.calls, NO_ORDERS)

    def column(self, name: str) -> dict[int, float]:
        """A metric's values by step, the last one said."""
        return history(self).get(name, {})


class KilledError(BaseException):
    """Nothing catches this: what was in memory is lost."""


class Doomed(Scripted):
    """Dies at the `die_at`-th call of whatever it is asked, before or after doing it."""

    def __init__(self, folder: Path, *, die_at: int = 0, seed: int = 0, cancel_at: int = 0) -> None:
        super().__init__(folder, cancel_at=cancel_at)
        self.left = die_at
        self.random = random.Random(seed)

    def _live(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KilledError

    def metric(self, steps: Sequence[int], values: Mapping[str, Sequence[float]]) -> None:
        self._live()
        super().metric(steps, values)
        self._live()

    @contextmanager
    def artifact(self, name: str, step: int | None = None) -> Iterator[Path]:
        self._live()
        with super().artifact(name, step) as path:
            yield path
            self._live()
        self._live()

    def control(self) -> Orders:
        self._live()
        return super().control()


def history(*reports: QuietReporter) -> dict[str, dict[int, float]]:
    """What the reporters of one training heard, in their order: values by name and step, later ones in place of earlier."""
    found: dict[str, dict[int, float]] = {}
    for report in reports:
        for steps, values in report.metrics:
            for name, column in values.items():
                found.setdefault(name, {}).update(zip(steps, column, strict=True))
    return found


def repeatable(*reports: QuietReporter) -> dict[str, dict[int, float]]:
    """`history` without what clocks and memory say."""
    return {name: column for name, column in history(*reports).items() if name not in MEASURED}
