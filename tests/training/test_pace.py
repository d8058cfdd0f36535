"""How long a training will still take, against a clock that the test turns."""

import random
import time
from pathlib import Path

import pytest

from explorer.schemas.specs import TrainSpec
from explorer.training.pace import Pace
from explorer.training.train import run
from tests.training.reporters import Scripted


def test_nothing_is_said_before_two_blocks() -> None:
    pace = Pace()
    assert pace.seconds_left(100, 1) is None
    pace.add(20, 640, 5.0)
    assert pace.seconds_left(100, 1) is None
    pace.add(20, 640, 1.0)
    assert pace.seconds_left(100, 0) == pytest.approx(5.0), "the slow first block is warm-up"


def test_validations_to_come_count_at_their_mean() -> None:
    pace = Pace()
    for _ in range(3):
        pace.add(10, 320, 1.0)
    pace.validated(2.0)
    pace.validated(4.0)
    assert pace.seconds_left(100, 5) == pytest.approx(10 + 15)
    assert pace.samples_per_s == 320


@pytest.mark.parametrize("done", [0, 600])
def test_a_third_of_a_steady_run_tells_the_rest_within_a_fifth(done: int) -> None:
    """Also after a resume at `done` of 1200 steps: what went before this start is not looked at."""
    chance = random.Random(0)
    pace, total, validation_s = Pace(), 1200, 3.0
    third = done + (total - done) // 3
    for step in range(done, third, 20):
        pace.add(20, 640, 20 * 0.05 * chance.uniform(0.7, 1.3) + (5.0 if step == done else 0.0))
        if step % 100 == 80:
            pace.validated(validation_s)
    left, validations = total - third, (total - third) // 100
    assert pace.seconds_left(left, validations) == pytest.approx(left * 0.05 + validations * validation_s, rel=0.2)


def test_a_machine_that_slows_down_is_followed() -> None:
    pace = Pace()
    for _ in range(100):
        pace.add(100, 100, 1.0)
    for _ in range(100):
        pace.add(100, 100, 4.0)
    assert pace.seconds_left(100, 0) == pytest.approx(4.0, rel=0.05)


@pytest.mark.slow
def test_a_real_run_knows_its_end(tmp_path: Path) -> None:
    class Clocked(Scripted):
        def progress(
            self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
        ) -> None:
            said.append((done / (total or 1), seconds_left, time.perf_counter()))

    said: list[tuple[float, float | None, float]] = []
    run(TrainSpec(epochs=24, threads=1), Clocked(tmp_path))
    end = said[-1][2]
    first, left, at = next(entry for entry in said if entry[0] >= 1 / 3)
    assert first < 0.4
    assert left == pytest.approx(end - at, rel=0.2)
    assert said[0][1] is None
