"""What watching costs: a bare step against a monitored one with the real reporter, interleaved."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from explorer.datasets.load import load
from explorer.engine.events_file import EventWriter
from explorer.engine.jobs import JobFolder
from explorer.engine.reporting import JobReporter
from explorer.inference.statistics import null_is_clean, ratio_of_medians
from explorer.inference.timing import interleaved
from explorer.schemas.specs import TrainSpec
from explorer.training.batches import Batch, Batches
from explorer.training.learner import Learner
from explorer.training.loop import Monitor

SPEC = TrainSpec(threads=1, learning_rate=1e-4, schedule="constant")
ROUNDS = 600
ATTEMPTS = 6
LIMIT = 1.02


def learner() -> Learner:
    """About a millisecond a step on one core."""
    torch.manual_seed(0)
    layers = [nn.Flatten(), nn.Linear(64, 320), nn.ReLU(), nn.Linear(320, 320), nn.ReLU(), nn.Linear(320, 10)]
    return Learner(nn.Sequential(*layers).train(), SPEC, "cpu", 1_000_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_monitoring_costs_at_most_two_percent(tmp_path: Path) -> None:
    """A sample is one log interval, so that each holds its share of the logging.

    The first attempt with a clean null is the verdict, whatever it says.
    """
    job = JobFolder.create(tmp_path, SPEC, model="net", cwd="/")
    report = JobReporter(job, EventWriter(job.events_path))
    plain = learner()  # one for all, since two with the same work differ by 2 % for where their memory lies
    monitor = Monitor(plain, report, SPEC.log_every_steps)

    def bare(block: list[Batch]) -> None:
        for inputs, targets in block:
            plain.step(0, inputs, targets)

    def monitored(block: list[Batch]) -> None:
        for inputs, targets in block:
            monitor.step(inputs, targets)

    batches = list(Batches(load("digits", "train"), 32, 0, "cpu").epoch(0))
    blocks = [batches[start : start + SPEC.log_every_steps] for start in range(0, 40, SPEC.log_every_steps)]
    outcomes = []
    for attempt in range(ATTEMPTS):
        seconds = interleaved([bare, bare, monitored], blocks, ROUNDS, 1, attempt)
        null_ratio = ratio_of_medians(seconds[:, 1], seconds[:, 0], attempt)
        ratio = ratio_of_medians(seconds[:, 2], seconds[:, 0], attempt)
        outcomes.append(
            f"{np.median(seconds[:, 0]) / SPEC.log_every_steps * 1e3:.2f} ms a step, null {null_ratio}, monitored {ratio}"
        )
        if null_is_clean(null_ratio):
            assert ratio.value <= LIMIT, outcomes
            return
    pytest.fail("too noisy for a verdict:\n" + "\n".join(outcomes))
