"""One training between its first and last step: epochs, validation, orders, checkpoints."""

import time
from typing import Any

from torch import nn

from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import NO_ORDERS, Reporter
from explorer.schemas.specs import TrainSpec
from explorer.training import state
from explorer.training.accelerator import Accelerator
from explorer.training.batches import ArrayBatches
from explorer.training.best import Best
from explorer.training.checkpoint import NAME, Checkpoints
from explorer.training.data import TrainingData
from explorer.training.evaluate import evaluate
from explorer.training.guards import NotFiniteError
from explorer.training.learner import Learner
from explorer.training.loop import Monitor
from explorer.training.parallel import Group
from explorer.training.plan import Plan
from explorer.training.position import Position
from explorer.training.schedules import Rate
from explorer.training.steering import Steering
from explorer.training.stepper import Stepper
from explorer.training.timing import NEVER
from explorer.training.user_step import step_function


class Run:
    """The state of one training. `module` lies on the device; with `checkpoints` it goes on from the newest one."""

    def __init__(
        self,
        module: nn.Module,
        spec: TrainSpec,
        report: Reporter,
        accelerator: Accelerator,
        group: Group,
        data: TrainingData,
        *,
        checkpoints: bool,
    ) -> None:
        self.module, self.spec, self.report = module, spec, report
        self.accelerator, self.group, self.data = accelerator, group, data
        self.plan = Plan(spec, data.train.batches_per_epoch, group.size)
        self.position = Position()
        self.best = Best(spec, can_validate=data.held_out is not None)
        self.function = step_function(spec, data.classes)
        rate = Rate(spec, self.plan.total_steps)
        self.learner = Learner(module, spec, self.function, accelerator.name, rate, group.wrap(module))
        # Other sources draw from the generators that the model may draw from.
        repeats = isinstance(data.train, ArrayBatches)
        self.stepper = Stepper(self.learner, report, accelerator, self.position, data.train.batch_size, group, repeats=repeats)
        self.monitor = Monitor(self.stepper, report, accelerator)
        self.steering = Steering(report, group)
        self.files = Checkpoints(report, spec.keep_checkpoints if checkpoints else 0)
        self.metrics: dict[str, float] = {}
        self.stopped = ""
        self._validated: int | None = None
        self._cut = False
        self._waited_s = 0.0
        state.seed_all(spec.seed + group.rank)
        self._resume()

    def train(self) -> None:
        """All that is left. A cancelled run writes its checkpoint unless it was cut within a step; one that met a NaN writes
        that of the step before.
        """
        if self.data.held_out is None:
            self.report.log("no data is held out, so nothing is validated")
        try:
            self._note_end()
            while not self.stopped and self.position.epoch < self.spec.epochs:
                self._epoch()
            self._say_progress()
            if not self._cut:
                self._validate()
            self._save()
        except Cancelled:
            self._save_cancelled()
            raise
        except NotFiniteError:
            self._save_before()
            raise
        self.metrics["loss"] = self.monitor.loss
        if self.best.give(self.module):
            self.metrics |= self.best.metrics

    def _epoch(self) -> None:
        """The rest of an epoch with its validation, or up to where the training ends within it."""
        self.learner.called.train()
        position, monitor, every = self.position, self.monitor, self.spec.checkpoint_every_steps
        batches, known = self.data.train.epoch(position.epoch, position.batch), self.data.train.batches_per_epoch
        while position.batch != known:
            if time.perf_counter() >= self.steering.next_s:
                monitor.wait(self.steering.ask())
                if self.steering.pending is not NO_ORDERS and self._obey():
                    return
            if not monitor.step(batches, self.plan.count(position.batch), self._steps_to_a_mark(), self.steering.next_s):
                break
            if every and position.step % every == 0:
                self._save()
            if monitor.all_said:
                self._say_progress()
            if position.step == self.spec.max_steps:
                break
        if not position.batch:
            raise ExplorerError(f"{self.data.name} gives no batch", "give it samples, or a smaller batch_size")
        self._settle()
        monitor.flush()
        self._say_progress()
        self._note_end()
        if self._epoch_is_whole() and self._validate():
            with monitor.unbroken():
                position.epoch, position.batch = position.epoch + 1, 0
            self._note_end()

    def _steps_to_a_mark(self) -> int:
        """How many steps may be made before something is to be done after one."""
        every, most, step = self.spec.checkpoint_every_steps, self.spec.max_steps, self.position.step
        left = every - step % every if every else NEVER
        return left if most is None else min(left, most - step)

    def _epoch_is_whole(self) -> bool:
        known = self.data.train.batches_per_epoch
        return not self.stopped or (known is not None and self.position.batch >= known)

    def _note_end(self) -> None:
        """Set `stopped` when something other than the last epoch ends the training."""
        step, most = self.position.step, self.spec.max_steps
        if self.best.given_up:
            self.stopped = f"stopped at step {step}: no better validation for {self.best.waited} epochs"
        elif most is not None and step >= most and step != self.plan.epochs_steps:
            self.stopped = f"ended at step {step}, as max_steps says"

    def _obey(self) -> bool:
        """Do what was asked for; whether that ends the training."""
        orders, step = self.steering.take(), self.position.step
        if orders.log_every_steps:
            self.monitor.log_each(orders.log_every_steps)
        # A new rate is kept at once, else a kill would lose it.
        changed = self.learner.schedule.obey(orders, step)
        if changed:
            rate, factor = self.learner.schedule.at(step), self.learner.schedule.factor
            self.report.log(f"learning rate {rate:.3g} from step {step + 1} on, as asked ({factor:.3g} of the schedule)")
        if orders.checkpoint or changed:
            self._save(again=changed)
        if orders.stop:
            self.stopped = f"stopped at step {step}, as asked"
        return orders.stop

    def _ask_in_validation(self) -> bool:
        self._waited_s += self.steering.ask()
        return self.steering.pending is not NO_ORDERS and self._obey()

    def _validate(self) -> bool:
        """Validate unless that is done at this step; False when it was cut short by a stop."""
        self._settle()
        self.monitor.flush()
        if self.data.held_out is None or self._validated == self.position.step:
            return True
        started, self._waited_s = time.perf_counter(), 0.0
        own_step = self.function if self.spec.step else None
        values = evaluate(self.module, self.data.held_out, step=own_step, group=self.group, cut=self._ask_in_validation)
        if values is None:
            self._cut = True
            return False
        self.monitor.pace.validated(time.perf_counter() - started - self._waited_s)
        with self.monitor.unbroken():
            self._take_in({f"val_{name}": value for name, value in values.items()})
        return True

    def _take_in(self, values: dict[str, float]) -> None:
        """Say a validation, and let rate and best follow it."""
        step = self.position.step
        self.report.metric([step], {name: [value] for name, value in values.items()})
        self.monitor.alarms.validation(step, values["val_loss"])
        self.metrics = dict(values)
        if "val_accuracy" in values:
            self.metrics["test_accuracy"] = values["val_accuracy"]
        self.learner.schedule.validated(values["val_loss"])
        self.best.validated(step, self.metrics, self.module)
        self._validated = step

    def _say_progress(self) -> None:
        left = self.plan.steps_left(self.position)
        seconds = None
        if left is not None:
            validations = self.plan.validations_left(self.position) if self.data.held_out is not None else 0
            seconds = self.monitor.pace.seconds_left(left, validations)
        message = f"epoch {self.position.epoch + 1}/{self.spec.epochs}"
        self.report.progress(self.position.step, self.plan.total_steps, message, "steps", seconds)

    def _settle(self) -> None:
        with self.monitor.unbroken():
            self.stepper.settle()

    def _save(self, *, again: bool = False) -> None:
        """Write a checkpoint, once its weights and optimizer state are seen to be finite; with `again` one of this step anew."""
        step = self.position.step
        if not self.files.keep or step == 0 or (self.files.has(step) and not again):
            return
        self._settle()
        self.monitor.flush_all()
        state.refuse_not_finite(self.learner, self.report, self.position.before)
        self.files.save(step, self._state(), write=self.group.first)

    def _save_cancelled(self) -> None:
        """Every rank must take part in a checkpoint, so a signal to one of several leaves the last one."""
        if self.monitor.whole and (self.group.size == 1 or self.steering.agreed):
            try:
                self._save()
            except ExplorerError as error:
                self.report.log(f"no checkpoint: {error}", "warning")

    def _save_before(self) -> None:
        """A checkpoint of the step before a NaN. Other devices may have learned from it already, other processes take no part."""
        if self.stepper.on_cpu and self.group.size == 1 and not state.not_finite(self.learner):
            self.monitor.forget_after(self.position.step)
            self._save()
            self._say_progress()
            if self.files.keep and self.position.step:
                kept = self.report.folder / NAME
                self.report.log(
                    f"the state before it is kept in {kept}: a training with other options can take it as its weights"
                )

    def _state(self) -> dict[str, Any]:
        return {
            **state.learner_state(self.learner),
            "position": [self.position.step, self.position.epoch, self.position.batch],
            "random": self.group.gather(state.random_state(self.accelerator)),
            "validated": self._validated,
            "metrics": self.metrics,
            "losses": list(self.monitor.said),
            "log_every": [self.spec.log_every_steps, self.monitor.log_every],
            "alarms": self.monitor.alarms.state_dict(),
            "best": self.best.state_dict(),
        }

    def _resume(self) -> None:
        """Go on from the newest checkpoint, which the first rank reads for all."""
        found = self.group.share(self.files.load() if self.files.keep and self.group.first else None)
        if found is None:
            return
        state.load_learner_state(self.learner, found, str(self.report.folder / NAME))
        if len(found["random"]) != self.group.size:
            raise ExplorerError(f"the checkpoint is of {len(found['random'])} processes, not {self.group.size}", state.REMEDY)
        self.files.newest = int(found["step"])
        self.position.step, self.position.epoch, self.position.batch = found["position"]
        self._validated, self.metrics = found["validated"], dict(found["metrics"])
        if found["log_every"][0] == self.spec.log_every_steps:
            self.monitor.log_each(int(found["log_every"][1]))
        self.monitor.said.extend(found["losses"])
        self.monitor.alarms.load_state_dict(found["alarms"])
        self.best.load_state_dict(found["best"])
        state.set_random_state(self.accelerator, found["random"][self.group.rank])
        self.report.log(f"resumed from the checkpoint at step {self.position.step}")
