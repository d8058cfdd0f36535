"""The pieces of a training around a small module, without data on disk."""

from collections.abc import Iterator

import torch
from torch import nn

from explorer.reporter import Reporter
from explorer.schemas.specs import TrainSpec
from explorer.training.accelerator import Accelerator, open_accelerator
from explorer.training.batches import Batch
from explorer.training.learner import Learner
from explorer.training.loop import Monitor
from explorer.training.position import Position
from explorer.training.schedules import Rate
from explorer.training.stepper import Stepper
from explorer.training.user_step import StepFunction, step_function


def make_stepper(
    module: nn.Module,
    spec: TrainSpec,
    report: Reporter,
    *,
    step: StepFunction | None = None,
    accelerator: Accelerator | None = None,
    total_steps: int | None = 100,
    repeats: bool = False,
) -> Stepper:
    device = accelerator or open_accelerator(spec, report)
    learner = Learner(module, spec, step or step_function(spec, None), "cpu", Rate(spec, total_steps))
    return Stepper(learner, report, device, Position(), spec.batch_size, repeats=repeats)


def make_monitor(module: nn.Module, spec: TrainSpec, report: Reporter) -> Monitor:
    stepper = make_stepper(module, spec, report)
    return Monitor(stepper, report, open_accelerator(spec, report))


def value_batches(count: int, size: int = 4, last: int = 0, seed: int = 0) -> Iterator[Batch]:
    """Random batches of (size, 3) inputs and (size, 1) targets; the last one of `last` samples, if given."""
    generator = torch.Generator().manual_seed(seed)
    for index in range(count):
        samples = last if last and index == count - 1 else size
        data = torch.randn(samples, 3, generator=generator), torch.randn(samples, 1, generator=generator)
        yield Batch(data, samples, 1.0, index)
