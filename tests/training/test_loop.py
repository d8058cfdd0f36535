"""When the monitor says what it keeps."""

from pathlib import Path

import pytest
from torch import nn

from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import loop, memory
from explorer.training.loop import Monitor
from tests.training.making import make_monitor, value_batches

PARTS = {"data_ms", "forward_ms", "backward_ms", "optimizer_ms"}


def steps_said(report: QuietReporter) -> list[list[int]]:
    return [steps for steps, values in report.metrics if "loss" in values]


@pytest.fixture
def report(tmp_path: Path) -> QuietReporter:
    return QuietReporter(tmp_path)


@pytest.fixture(autouse=True)
def said_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.loop.LEAST_INTERVAL_S", 0.0)


@pytest.fixture
def monitor(report: QuietReporter) -> Monitor:
    return make_monitor(nn.Linear(3, 1), TrainSpec(log_every_steps=3, time_every_steps=4), report)


def test_fast_steps_are_said_by_their_number(monitor: Monitor, report: QuietReporter) -> None:
    said = []
    batches = value_batches(7)
    for _ in range(7):
        assert monitor.step(batches)
        said.append(monitor.all_said)
    assert said == [False, False, True, False, False, True, False]
    assert steps_said(report) == [[1, 2, 3], [4, 5, 6]]
    monitor.flush()
    assert steps_said(report)[-1] == [7]
    assert not monitor.step(batches), "there is no batch left"
    assert monitor.position.step == 7


def test_slow_steps_are_said_by_the_clock(monitor: Monitor, report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAY_INTERVAL_S", -1.0)
    batches = value_batches(2)
    while monitor.step(batches):
        pass
    assert steps_said(report) == [[1], [2]]


def test_the_loss_is_the_mean_of_the_last_logged_steps_however_they_were_said(
    monitor: Monitor, report: QuietReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SAY_INTERVAL_S", -1.0)
    batches = value_batches(5)
    while monitor.step(batches):
        pass
    losses = [value for _, values in report.metrics for value in values.get("loss", [])]
    assert monitor.loss == pytest.approx(sum(losses[-3:]) / 3)


def test_the_log_interval_can_change(monitor: Monitor, report: QuietReporter) -> None:
    batches = value_batches(9)
    monitor.step(batches)
    monitor.log_each(5)
    while monitor.step(batches):
        pass
    monitor.flush()
    assert steps_said(report) == [[1, 2, 3, 4, 5], [6, 7, 8, 9]]


def test_some_steps_are_timed_in_their_parts(monitor: Monitor, report: QuietReporter) -> None:
    batches = value_batches(9)
    while monitor.step(batches):
        pass
    monitor.flush_all()
    timed = [(steps, values) for steps, values in report.metrics if "data_ms" in values]
    assert [step for steps, _ in timed for step in steps] == [4, 8]
    assert timed[0][1].keys() == PARTS | {"grad_norm"}
    assert all(value > 0 for _, values in timed for column in values.values() for value in column)
    assert monitor.times.medians_ms.keys() == {"data", "forward", "backward", "optimizer"}


def test_a_long_interval_times_an_early_step_too(tmp_path: Path) -> None:
    monitor = make_monitor(nn.Linear(3, 1), TrainSpec(time_every_steps=100), QuietReporter(tmp_path))
    assert [step for step in range(1, 301) if monitor.times.due(step)] == [10, 100, 200, 300]
    none = make_monitor(nn.Linear(3, 1), TrainSpec(time_every_steps=0), QuietReporter(tmp_path))
    assert not any(none.times.due(step) for step in range(1, 301))
    assert none.times.medians_ms == {}


def test_memory_is_read_at_most_once_a_second(monitor: Monitor, report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(steps: int) -> int:
        batches = value_batches(steps)
        while monitor.step(batches):
            pass
        return sum("rss_bytes" in values for _, values in report.metrics)

    assert read(9) == 1
    assert read(9) == 1
    monkeypatch.setattr(memory, "READ_INTERVAL_S", 0.0)
    monitor.memory.next_s = 0.0
    assert read(9) == 4
    assert (monitor.memory.peak_rss_bytes or 0) > 10_000_000


def test_a_pause_is_no_training_time(monitor: Monitor, report: QuietReporter) -> None:
    batches = value_batches(3)
    monitor.step(batches)
    monitor.wait(-100.0)
    while monitor.step(batches):
        pass
    assert report.metrics[0][1]["samples_per_s"][0] < 1, "twelve samples in a hundred seconds and a bit"


def test_very_fast_steps_on_the_cpu_are_said_ten_times_a_second(report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.loop.LEAST_INTERVAL_S", 1000.0)
    monitor = make_monitor(nn.Linear(3, 1), TrainSpec(log_every_steps=3, time_every_steps=0), report)
    batches = value_batches(7)
    while monitor.step(batches, most=5):
        pass
    assert monitor.position.step == 7
    assert not [steps for steps, values in report.metrics if "loss" in values]
    monitor.flush()
    assert [steps for steps, values in report.metrics if "loss" in values] == [list(range(1, 8))]
