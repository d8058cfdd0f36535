"""Train a module: epochs of monitored steps, validation after each, checkpoints on time and on demand."""

import math
import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn

from explorer.datasets.load import load
from explorer.errors import Cancelled
from explorer.models.user_code import blamed
from explorer.reporter import Reporter
from explorer.schemas.specs import TrainSpec
from explorer.training.batches import Batches
from explorer.training.checkpoint import NAME, load_checkpoint, save_checkpoint
from explorer.training.devices import choose
from explorer.training.evaluate import check_fit, evaluate
from explorer.training.flops import flops_per_sample
from explorer.training.learner import Learner
from explorer.training.loop import Monitor
from explorer.training.speed import SpeedReporter


@dataclass(frozen=True)
class Fitted:
    """A finished training: `metrics` by name, `seconds` of this run, `checkpoint` its name among the artifacts.

    `flops_per_sample` and the median `samples_per_s` as in `TrainResult`.
    """

    device: str
    device_reason: str
    steps: int
    seconds: float
    metrics: dict[str, float]
    checkpoint: str | None
    alarms: list[str] = field(default_factory=list)
    flops_per_sample: float | None = None
    samples_per_s: float | None = None


def fit(module: nn.Module, spec: TrainSpec, report: Reporter, *, checkpoints: bool = True) -> Fitted:
    """Train `module` in place as `spec` says (its source and weights are not read); it ends on the CPU in eval mode.

    With `checkpoints`, goes on from `report.folder / "checkpoint.pt"` when there is one, writes it every
    `checkpoint_every_steps`, on the command "checkpoint", when cancelled and at the end.
    metrics: `loss` (mean of the last logged steps), `val_loss`, and with classes `val_accuracy` = `test_accuracy`.
    """
    device, reason = choose(spec.device)
    report.log(f"training on {reason}")
    set_threads(spec.threads)
    started = time.perf_counter()
    with blamed("the model failed in training", always=False):
        run = _Run(module, spec, report, device, checkpoints)
        run.train()
    module.cpu().eval()
    return Fitted(
        device=device,
        device_reason=reason,
        steps=run.step,
        seconds=time.perf_counter() - started,
        metrics=run.metrics,
        checkpoint=NAME if checkpoints else None,
        alarms=run.alarms,
        flops_per_sample=run.flops_per_sample(),
        samples_per_s=run.speed.samples_per_s,
    )


def set_threads(threads: int | None) -> None:
    """Let torch use `threads` CPU threads; None takes no more than this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(threads or min(torch.get_num_threads(), allowed))


class _Run:
    """The state of one training between its first and last step."""

    def __init__(self, module: nn.Module, spec: TrainSpec, report: Reporter, device: str, checkpoints: bool) -> None:
        self.spec, self.report, self.device, self.checkpoints = spec, report, device, checkpoints
        self.alarms: list[str] = []
        self.metrics: dict[str, float] = {}
        self.resumed_loss = math.nan
        self.module = self._prepared(module)
        self.batches = Batches(load(spec.data, "train"), spec.batch_size, spec.seed, device)
        self.held_out = load(spec.data, "test")
        self.total_steps = spec.epochs * self.batches.steps_per_epoch
        check_fit(self.module, self.held_out, device)
        self.learner = Learner(self.module, spec, device, self.total_steps)
        torch.manual_seed(spec.seed)
        self.speed = SpeedReporter(report)
        self.monitor = Monitor(self.learner, self.speed, spec.log_every_steps, done=self._resumed())

    @property
    def step(self) -> int:
        return self.monitor.done

    def train(self) -> None:
        """All epochs that are left. A cancelled run writes its checkpoint, unless it was cut within a step."""
        try:
            for epoch in range(self.step // self.batches.steps_per_epoch, self.spec.epochs):
                self._train_epoch(epoch)
                self._validate()
            if not self.metrics:
                self._validate()
        except Cancelled:
            if self.monitor.whole:
                self._save()
            raise
        self._save()

    def flops_per_sample(self) -> float | None:
        """Operations of one sample forward and backward, counted from a batch; None where they cannot be counted."""
        size = self.batches.batch_size
        return flops_per_sample(self.module, self.batches.inputs[:size], self.batches.targets[:size])

    def _train_epoch(self, epoch: int) -> None:
        self.module.train()
        message = f"epoch {epoch + 1}/{self.spec.epochs}"
        every = self.spec.checkpoint_every_steps
        for inputs, targets in self.batches.epoch(epoch, self.step % self.batches.steps_per_epoch):
            commands = self.monitor.step(inputs, targets)
            if self.monitor.all_said:
                self.report.progress(self.step, self.total_steps, message, "steps")
            if commands.checkpoint or (every and self.step % every == 0):
                self._save()
        self.monitor.flush()
        self.report.progress(self.step, self.total_steps, message, "steps")

    def _validate(self) -> None:
        loss, accuracy = evaluate(self.module, self.held_out, self.device, self.report)
        values = {"val_loss": loss} if accuracy is None else {"val_loss": loss, "val_accuracy": accuracy}
        self.report.metric([self.step], {name: [value] for name, value in values.items()})
        if not math.isfinite(loss):
            self.alarms.append(f"validation loss is not finite at step {self.step}")
        self.metrics = {"loss": self._last_loss(), **values}
        if accuracy is not None:
            self.metrics["test_accuracy"] = accuracy

    def _last_loss(self) -> float:
        return self.resumed_loss if math.isnan(self.monitor.loss) else self.monitor.loss

    def _prepared(self, module: nn.Module) -> nn.Module:
        """On the device, and in float32 as the data is (MPS has no float64)."""
        if any(tensor.dtype == torch.float64 for tensor in module.state_dict().values()):
            self.report.log("float64 weights train as float32")
            module = module.float()
        return module.to(self.device)

    def _resumed(self) -> int:
        """The step to go on from."""
        found = load_checkpoint(self.learner, self.report.folder) if self.checkpoints else None
        if found is None:
            return 0
        step, self.resumed_loss = found
        self.report.log(f"resumed from the checkpoint at step {step}")
        return step

    def _save(self) -> None:
        """Write a checkpoint of weights that are finite; the one before stays when they are not."""
        if not self.checkpoints or self.step == 0:
            return
        self.monitor.flush()
        if all(bool(torch.isfinite(parameter).all()) for parameter in self.module.parameters()):
            save_checkpoint(self.learner, self.step, self._last_loss(), self.report)
        else:
            self.alarms.append(f"no checkpoint at step {self.step}: weights are not finite")
