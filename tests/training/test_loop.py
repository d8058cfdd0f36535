"""When the monitor says what it keeps."""

from pathlib import Path

import pytest
import torch
from torch import nn

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import loop
from explorer.training.learner import Learner
from explorer.training.loop import Monitor

BATCH = (torch.zeros(4, 3), torch.zeros(4, dtype=torch.int64))


def steps_said(report: QuietReporter) -> list[list[int]]:
    return [steps for steps, _ in report.metrics]


@pytest.fixture
def monitor(tmp_path: Path) -> Monitor:
    learner = Learner(nn.Linear(3, 2), TrainSpec(), "cpu", 100)
    return Monitor(learner, QuietReporter(tmp_path), log_every=3)


def test_fast_steps_are_said_by_their_number(monitor: Monitor) -> None:
    said = []
    for _ in range(7):
        monitor.step(*BATCH)
        said.append(monitor.all_said)
    assert said == [False, False, True, False, False, True, False]
    assert isinstance(monitor.report, QuietReporter)
    assert steps_said(monitor.report) == [[1, 2, 3], [4, 5, 6]]
    monitor.flush()
    assert steps_said(monitor.report)[-1] == [7]


def test_slow_steps_are_said_by_the_clock(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAY_INTERVAL_S", -1.0)
    for _ in range(2):
        monitor.step(*BATCH)
    assert isinstance(monitor.report, QuietReporter)
    assert steps_said(monitor.report) == [[1], [2]]


def test_the_loss_is_the_mean_of_the_last_logged_steps_however_they_were_said(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAY_INTERVAL_S", -1.0)
    for _ in range(5):
        monitor.step(*BATCH)
    assert isinstance(monitor.report, QuietReporter)
    losses = [value for _, values in monitor.report.metrics for value in values["loss"]]
    assert monitor.loss == pytest.approx(sum(losses[-3:]) / 3)
