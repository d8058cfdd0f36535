"""Train a module: the device, the data and the processes found, the module trained, its figures given."""

import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn

from explorer.models.user_code import blamed
from explorer.reporter import Reporter
from explorer.schemas.specs import TrainSpec
from explorer.schemas.train_result import Checkpoint
from explorer.training.accelerator import Accelerator, open_accelerator
from explorer.training.data import TrainingData, open_data
from explorer.training.determinism import deterministic
from explorer.training.fit_check import check_fit
from explorer.training.flops import flops_per_sample
from explorer.training.parallel import ALONE, Group
from explorer.training.run import Run
from explorer.training.user_step import step_function


@dataclass(frozen=True)
class Fitted:
    """A finished training: `metrics` by name, `seconds` of this run, the rest as in `TrainResult`.

    `checkpoints` are the kept ones, the newest first.
    """

    device: str
    device_reason: str
    steps: int
    seconds: float
    metrics: dict[str, float]
    stopped: str = ""
    best_step: int | None = None
    checkpoints: list[Checkpoint] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    flops_per_sample: float | None = None
    samples_per_s: float | None = None
    step_ms: dict[str, float] = field(default_factory=dict)
    peak_rss_bytes: int | None = None
    peak_device_bytes: int | None = None
    fallback_operators: list[str] = field(default_factory=list)

    @property
    def checkpoint(self) -> str | None:
        """The newest checkpoint's name among the artifacts."""
        return self.checkpoints[0].name if self.checkpoints else None


def fit(
    module: nn.Module,
    spec: TrainSpec,
    report: Reporter,
    *,
    checkpoints: bool = True,
    accelerator: Accelerator | None = None,
    group: Group = ALONE,
) -> Fitted:
    """Train `module` in place as `spec` says (its source and weights are not read); it ends on the CPU in eval mode.

    With `checkpoints`, goes on from `report.folder / "checkpoint.pt"` when there is one, writes it every
    `checkpoint_every_steps`, on the command "checkpoint", when cancelled and at the end.
    metrics: `loss` (mean of the last logged steps), `val_loss`, with classes `val_accuracy` = `test_accuracy`, for values
    `val_mae`, and what the user's step gives. `accelerator` is the device where it is open already.
    """
    accelerator = accelerator or open_accelerator(spec, report, group.local_rank)
    report.log(f"training on {accelerator.reason}")
    if group.size == 1:
        set_threads(spec.threads)
    started = time.perf_counter()
    with blamed("the model failed in training", always=False), deterministic(spec.deterministic), accelerator.watching():
        data = open_data(spec, accelerator.place, rank=group.rank, size=group.size)
        say(data, report)
        module = placed(module, accelerator, report)
        check_fit(module, step_function(spec, data.classes), data, accelerator)
        run = Run(module, spec, report, accelerator, group, data, checkpoints=checkpoints)
        run.train()
    operations = counted(module, spec, data)
    module.cpu().eval()
    return fitted(run, time.perf_counter() - started, operations)


def set_threads(threads: int | None) -> None:
    """Let torch use `threads` CPU threads; None takes no more than this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or min(torch.get_num_threads(), allowed))


def say(data: TrainingData, report: Reporter) -> None:
    """What the data is, and what is odd about it."""
    if data.description:
        report.log(f"{data.name}: {data.description}")
    for title, evidence, remedy in data.oddities:
        report.finding("warning", title, evidence, remedy)


def placed(module: nn.Module, accelerator: Accelerator, report: Reporter) -> nn.Module:
    """On the device, and in float32 as the data is (MPS has no float64)."""
    if any(tensor.dtype == torch.float64 for tensor in (*module.parameters(), *module.buffers())):
        report.log("float64 weights train as float32")
        module = module.float()
    return module.to(accelerator.name)


def counted(module: nn.Module, spec: TrainSpec, data: TrainingData) -> float | None:
    """Operations of one sample forward and backward, counted from a batch; None where they cannot be counted."""
    if spec.step is not None:
        return None
    inputs, targets = data.train.first(data.train.batch_size)
    return flops_per_sample(module, inputs, targets)


def fitted(run: Run, seconds: float, operations: float | None) -> Fitted:
    """The figures of a finished run."""
    monitor, accelerator = run.monitor, run.accelerator
    return Fitted(
        device=accelerator.kind,
        device_reason=accelerator.reason,
        steps=run.position.step,
        seconds=seconds,
        metrics=run.metrics,
        stopped=run.stopped,
        best_step=run.best.step,
        checkpoints=run.files.kept() if run.files.keep and run.group.first else [],
        alarms=monitor.alarms.raised,
        flops_per_sample=operations,
        samples_per_s=monitor.pace.samples_per_s,
        step_ms=monitor.times.medians_ms,
        peak_rss_bytes=monitor.memory.peak_rss_bytes,
        peak_device_bytes=monitor.memory.peak_device_bytes,
        fallback_operators=list(accelerator.fallback_operators),
    )
