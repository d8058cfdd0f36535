"""Orders to a running training, each obeyed at the next boundary, in validation too."""

import time
from pathlib import Path

import pytest
import torch

from explorer.reporter import Orders
from explorer.schemas.specs import TrainSpec
from explorer.training.parallel import ALONE, Alone
from explorer.training.steering import Steering
from explorer.training.train import run
from tests.training.reporters import Scripted

# 45 steps make an epoch, then two batches are validated: calls 46 and 47 of `control`.
SPEC = TrainSpec(epochs=3, threads=1, log_every_steps=5, checkpoint_every_steps=0)


@pytest.fixture(autouse=True)
def control_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.steering.CONTROL_INTERVAL_S", 0.0)


def steps_saved(folder: Path) -> list[int]:
    return sorted(int(torch.load(path, weights_only=True)["step"]) for path in folder.glob("*.pt"))


def test_stop_ends_after_the_step_with_one_last_validation(tmp_path: Path) -> None:
    report = Scripted(tmp_path, orders={13: Orders(stop=True)})
    result = run(SPEC, report)
    assert (result.steps, result.stopped) == (12, "stopped at step 12, as asked")
    assert list(report.column("val_loss")) == [12]
    assert result.metrics["val_loss"] == report.column("val_loss")[12]
    assert (tmp_path / "model.safetensors").exists()
    assert steps_saved(tmp_path) == [12]


@pytest.mark.parametrize(("call", "step", "validated"), [(47, 45, []), (94, 90, [45])])
def test_stop_within_a_validation_cuts_it_short(tmp_path: Path, call: int, step: int, validated: list[int]) -> None:
    """The last whole validation's values are given."""
    report = Scripted(tmp_path, orders={call: Orders(stop=True)})
    result = run(SPEC, report)
    assert (result.steps, result.stopped) == (step, f"stopped at step {step}, as asked")
    assert list(report.column("val_loss")) == validated
    assert ("val_loss" in result.metrics) == bool(validated)
    assert "loss" in result.metrics
    assert report.calls == call, "nothing is validated after it"


def test_stop_right_after_a_validation_needs_no_other(tmp_path: Path) -> None:
    report = Scripted(tmp_path, orders={48: Orders(stop=True)})
    assert run(SPEC, report).steps == 45
    assert list(report.column("val_loss")) == [45]


@pytest.mark.parametrize("call", [14, 47])
def test_a_checkpoint_now(tmp_path: Path, call: int) -> None:
    run(SPEC, Scripted(tmp_path, orders={call: Orders(checkpoint=True)}))
    assert steps_saved(tmp_path) == [13 if call == 14 else 45, 135]


def test_the_rate_is_what_was_asked_for_from_the_next_step_on(tmp_path: Path) -> None:
    plain = Scripted(tmp_path / "plain")
    run(SPEC, plain)
    report = Scripted(tmp_path / "steered", orders={61: Orders(learning_rate=0.001), 70: Orders(learning_rate_factor=0.5)})
    run(SPEC, report)
    before, after = plain.column("lr"), report.column("lr")
    # Two calls went to the validation at step 45.
    assert after[58] == before[58]
    assert after[59] == pytest.approx(0.001)
    assert after[67] == pytest.approx(0.001 * before[67] / before[59])
    assert after[68] == pytest.approx(0.0005 * before[68] / before[59])
    assert any("learning rate 0.001 from step 59 on" in message for message in report.messages)


def test_a_changed_rate_survives_a_kill(tmp_path: Path) -> None:
    """It is in a checkpoint at once, and what follows is the same."""
    whole = Scripted(tmp_path / "whole", orders={61: Orders(learning_rate=0.001), 63: Orders(log_every_steps=7)})
    expected = run(SPEC, whole)

    class Dying(Scripted):
        def control(self) -> Orders:
            if self.calls == 80:
                raise KeyboardInterrupt
            return super().control()

    with pytest.raises(KeyboardInterrupt):
        run(SPEC, Dying(tmp_path / "cut", orders=whole.orders))
    assert steps_saved(tmp_path / "cut") == [58]
    again = Scripted(tmp_path / "cut", orders={3: Orders(log_every_steps=7)})
    result = run(SPEC, again)
    assert again.column("lr") == {step: rate for step, rate in whole.column("lr").items() if step > 58}
    assert result.metrics == expected.metrics


def test_the_log_interval_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.loop.SAY_INTERVAL_S", 1000.0)
    monkeypatch.setattr("explorer.training.loop.LEAST_INTERVAL_S", 0.0)
    report = Scripted(tmp_path, orders={11: Orders(log_every_steps=9)})
    run(SPEC.model_copy(update={"epochs": 1}), report)
    assert [steps[-1] for steps, values in report.metrics if "loss" in values] == [5, 10, 18, 27, 36, 45]


def test_orders_are_looked_for_twenty_times_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.steering.CONTROL_INTERVAL_S", 0.05)
    report = Scripted(tmp_path)
    steering = Steering(report, ALONE)
    end = time.perf_counter() + 0.12
    while time.perf_counter() < end:
        steering.ask()
    assert 2 <= report.calls <= 3


def test_several_processes_ask_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.steering.CONTROL_INTERVAL_S", 10.0)

    class Two(Alone):
        size = 2

    report = Scripted(tmp_path)
    steering = Steering(report, Two())
    for _ in range(3):
        steering.ask()
    assert report.calls == 3
