"""One step from its batches: gradients, the guards before the weights change, the update."""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NoReturn

import torch

from explorer.reporter import Reporter
from explorer.training import guards
from explorer.training.accelerator import Accelerator
from explorer.training.batches import Batch
from explorer.training.check_interval import CheckInterval
from explorer.training.guards import Place
from explorer.training.learner import Learner
from explorer.training.parallel import ALONE, Group
from explorer.training.position import Position
from explorer.training.rewind import Done, Rewind
from explorer.training.timing import Stopwatch
from explorer.training.user_step import SupervisedStep


class Stepper:
    """Makes steps and stops at NaN.

    On the CPU losses and gradients are read before the weights change; where looking at gradients costs too much of a step, the
    weights are put back instead (`rewind`). Elsewhere reading drains the device, so losses stay there and are read when a log is
    due; a NaN is then found that much later. After a step, `losses` holds its loss too (of all batches, of this process), `norm`
    the gradients' norm where there is one, and `others` what else the user's step gave. `repeats`: an epoch's batches come
    without a draw from the generators that the model draws from.
    """

    def __init__(
        self,
        learner: Learner,
        report: Reporter,
        accelerator: Accelerator,
        position: Position,
        batch_size: int,
        group: Group = ALONE,
        *,
        repeats: bool = False,
    ) -> None:
        spec = learner.spec
        self.learner, self.report, self.position, self.group = learner, report, position, group
        self.batch_size = batch_size
        self.on_cpu = accelerator.kind == "cpu"
        self.losses: list[Any] = []
        self.samples = 0
        self.norm: torch.Tensor | None = None
        self.others: dict[str, Any] = {}
        self._taken = 0
        self._places: list[Place] = []
        self._data: Any = None
        self._began_s = 0.0
        self._clips = spec.clip_grad_norm is not None
        self._scaled = learner.amp.scaler is not None
        self._accelerator = accelerator
        self._after_update = accelerator.after_update if accelerator.kind == "xla" else None
        self._usual = self.on_cpu and group.size == 1 and not (self._clips or self._scaled or learner.mixed)
        if isinstance(learner.function, SupervisedStep):
            self._loss_of_pair = learner.function.loss
        else:
            self._usual = False
        self.rewind: Rewind | None = None
        self.checks = CheckInterval(
            always=spec.check_gradients == "always",
            log_every=spec.log_every_steps,
            on_cpu=self.on_cpu,
            may_rewind=self._usual and repeats and spec.accumulate_batches == 1,
        )

    def step(self, batches: Iterator[Batch], count: int, watch: Stopwatch | None = None) -> bool:
        """Learn from the next `count` batches, or from what is left of them; False, and nothing done, without one."""
        batch = next(batches, None)
        if batch is None:
            return False
        if watch is not None:
            watch.mark("data")
        kept = self._kept()
        if self.checks.measuring:
            self._began_s = time.perf_counter()
        self.learner.begin(self.position.step)
        self.others, self._taken = {}, 0
        loss = self._batch(batch, batch.weight, watch) if count == 1 else self._batches(batch, batches, count, watch)
        self.losses.append(loss)
        if not self.on_cpu:
            self._places.append(self._done)
        if kept is not None:
            kept.append((batch, self.learner.rate, loss))
        self._update(watch)
        self.position.step += 1
        self.position.batch += self._taken
        return True

    @property
    def makes_usual_steps(self) -> bool:
        """Whether `steps` can make the next ones."""
        return self._usual and not self.checks.measuring

    def steps(self, batches: Iterator[Batch], most: int, until_s: float, rates: list[float]) -> int:
        """Up to `most` usual steps, ended by the clock: one batch each, on the CPU, with no norm taken; gives how many.

        One loop in one frame: beside a step of a millisecond each Python call costs ten times what it costs alone.
        """
        learner, position, losses, clock = self.learner, self.position, self.losses, time.perf_counter
        loss_of_pair, zero_grad = self._loss_of_pair, learner.optimizer.zero_grad
        kept = self._kept()
        planned = [learner.schedule.at(step) for step in range(position.step, position.step + most)]
        learner.set_rate(planned[0])
        done = 0
        for batch, rate in zip(islice(batches, most), planned, strict=False):
            if rate != learner.rate:
                learner.set_rate(rate)
            zero_grad(set_to_none=True)
            loss = loss_of_pair(learner.called, batch.data)
            number = loss.item()
            if not math.isfinite(number):
                self._stop_at_loss(number, position.place, position.before, batch.data)
            loss.backward()  # type: ignore[no-untyped-call]
            if kept is not None:
                kept.append((batch, rate, number))
            elif not guards.seem_finite(learner.gradients()):
                guards.stop_at_gradient(self.report, learner.module, position.place)
            learner.optimizer.step()
            losses.append(number)
            rates.append(rate)
            position.step += 1
            position.batch += 1
            self.samples += batch.samples
            done += 1
            if clock() >= until_s:
                break
        return done

    def settle(self) -> None:
        """After steps whose gradients were not looked at: raises, with the weights put back, when one spoilt them."""
        if self.rewind is not None:
            self.rewind.settle()

    def take_losses(self) -> list[float]:
        """The losses since the last call; raises when one that was not yet read is not finite."""
        losses = self.losses if self.on_cpu else self._read()
        self.losses, self._places = [], []
        return losses

    def _kept(self) -> list[Done] | None:
        """Where steps are kept to be made again; None where each gradient is looked at."""
        if not self.checks.rewinds:
            return None
        if self.rewind is None:
            parts = self.learner, self._loss_of_pair, self.position, self.report, self._accelerator
            self.rewind = Rewind(*parts, self.checks.step_s)
        if self.rewind.prepare():
            return self.rewind.done
        self.rewind, self.checks.rewinds = None, False
        return None

    def _batches(self, first: Batch, batches: Iterator[Batch], count: int, watch: Stopwatch | None) -> Any:
        """Gradients of several batches, each weighing as much as its samples, as in one batch of them all."""
        loss: Any = 0.0
        share, planned, size = 0.0, self.batch_size * count, self.group.size
        batch: Batch | None = first
        for index in range(1, count + 1):
            if batch is None:
                break
            if index < count and size > 1:
                with self.group.accumulating(self.learner.called):
                    loss = loss + self._batch(batch, batch.samples / planned, watch)
            else:
                loss = loss + self._batch(batch, batch.samples / planned, watch)
            # Of all ranks together, so that every rank divides by the very same number.
            share += round(batch.samples * size / batch.weight) / (size * planned)
            if index < count and (batch := next(batches, None)) is not None and watch is not None:
                watch.mark("data")
        if abs(share - 1) < 1e-9:
            return loss
        self.learner.average(share)
        self.others = {name: value / share for name, value in self.others.items()}
        return loss / share

    def _batch(self, batch: Batch, weight: float, watch: Stopwatch | None) -> Any:
        """Forward and backward of one batch; gives its loss times its weight."""
        values = self.learner.forward(batch)
        loss: Any = values["loss"]
        number = 0.0
        if self.on_cpu:
            number = loss.item()
            if not math.isfinite(number):
                place = self.position.place
                self._stop_at_loss(number, replace(place, batch=place.batch + self._taken), self.position.before, batch.data)
        else:
            self._data = batch.data
        if watch is not None:
            watch.mark("forward")
        if weight != 1.0:
            loss, number = loss * weight, number * weight
        self.learner.backward(loss)
        if watch is not None:
            watch.mark("backward")
        if len(values) > 1:
            self._add_others(values, weight)
        self._taken += 1
        self.samples += batch.samples
        return number if self.on_cpu else loss.detach()

    def _add_others(self, values: Mapping[str, torch.Tensor], weight: float) -> None:
        for name, value in values.items():
            if name != "loss":
                self.others[name] = self.others.get(name, 0.0) + value.detach() * weight

    def _update(self, watch: Stopwatch | None) -> None:
        """Look at the gradients, then change the weights."""
        learner = self.learner
        self.norm = None
        if self._clips or watch is not None:
            learner.unscale()
            self.norm = torch.nn.utils.get_total_norm(learner.gradients())
        if not self._scaled:
            self._check()
        elif not self.on_cpu and self.checks.due(self.position.step + 1):
            self._read()
        if self._clips and self.norm is not None:
            learner.clip(self.norm)
        learner.update()
        if self._after_update is not None:
            self._after_update()
        if watch is not None:
            watch.mark("optimizer")

    def _check(self) -> None:
        """Stop at a gradient that is not finite, as often as `checks` says; a norm is looked at where reading it is free."""
        if self.checks.measuring and self.norm is None:
            start = time.perf_counter()
            good = guards.seem_finite(self.learner.gradients())
            self.checks.add(time.perf_counter() - start, start - self._began_s)
        elif self.norm is not None and self.on_cpu:
            good = math.isfinite(self.norm.item())
        elif self.checks.due(self.position.step + 1):
            if not self.on_cpu:
                self._read()
            good = guards.seem_finite(self.learner.gradients())
        else:
            return
        if not good:
            guards.stop_at_gradient(self.report, self.learner.module, self._done)

    @property
    def _done(self) -> Place:
        """The step under way, at its last batch so far."""
        return Place(self.position.step + 1, self.position.epoch + 1, self.position.batch + self._taken)

    def _read(self) -> list[float]:
        """Losses that lie on the device; stops at the first that is not finite, with its data where that is still there."""
        losses: list[float] = torch.stack(self.losses).float().tolist() if self.losses else []
        for offset, value in enumerate(losses):
            if not math.isfinite(value):
                place = self._places[offset]
                data = self._data if offset == len(losses) - 1 else None
                self._stop_at_loss(value, place, Place(place.step - 1, place.epoch, place.batch - 1), data)
        return losses

    def _stop_at_loss(self, value: float, place: Place, before: Place, data: Any) -> NoReturn:
        if self.rewind is not None:
            self.rewind.stop_if_spoilt()
        looked = self.checks.every == 1
        guards.stop_at_loss(self.report, value, place, data, self.learner.module, before, looked=looked)
