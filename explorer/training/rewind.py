"""Going back to before a NaN reached the weights: a copy of the training at one step, and the batches since."""

import time
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import nn

from explorer.reporter import Reporter
from explorer.training import guards, state
from explorer.training.accelerator import Accelerator
from explorer.training.batches import Batch
from explorer.training.guards import Place
from explorer.training.learner import Learner
from explorer.training.position import Position

# Share of the training that copies may cost on average, and the steps between two of them.
COPY_SHARE = 0.002
LEAST_STEPS, MOST_STEPS = 8, 256
MOST_COPIED_BYTES = 256 << 20
MOST_KEPT_BYTES = 64 << 20
# A batch, and the rate and the loss of its step; a tuple, as one is made at every step.
Done = tuple[Batch, float, float]

OTHER_LOSS = "another loss"


class Rewind:
    """For steps so short that a look at all gradients before each update costs too much of them.

    All that a step changes is copied now and then, and the steps `done` since are kept. When weights turn out to be spoilt, the
    copy is put back and the steps are made again, each gradient looked at, up to the one that spoilt them, whose update is not
    made: the weights are those before it bit for bit, as with a look before every update. That takes steps that follow from
    weights, generators and batch alone; their losses tell whether they did. `settle` at the end of each epoch. `step_s` is about
    the time of one step.
    """

    def __init__(
        self,
        learner: Learner,
        loss_of_pair: Callable[[nn.Module, Any], torch.Tensor],
        position: Position,
        report: Reporter,
        accelerator: Accelerator,
        step_s: float,
    ) -> None:
        self.learner, self.position, self.report = learner, position, report
        self.done: list[Done] = []
        self._loss_of_pair = loss_of_pair
        self._accelerator = accelerator
        self._step_s = max(step_s, 1e-9)
        self._copied = False
        self._due = 0
        self._batch_bytes = 0
        self._from = (0, 0, 0)
        self._generators: Any = None
        self._known: set[Any] = set()
        self._live: list[torch.Tensor] = []
        self._copies: list[torch.Tensor] = []

    def prepare(self) -> bool:
        """Before steps: copy where that is due. False when copies or batches would take too much memory."""
        if self._copied and len(self.done) < self._due:
            return True
        started = time.perf_counter()
        self.settle()
        if not self._copy():
            return False
        due = int((time.perf_counter() - started) / (COPY_SHARE * self._step_s))
        due = min(max(due, LEAST_STEPS), MOST_STEPS)
        self._due = due if self._batch_bytes else LEAST_STEPS
        return due * self._batch_bytes <= MOST_KEPT_BYTES

    def settle(self) -> None:
        """Look at the weights, and let copy and steps go; ends the training when one of these spoilt them."""
        self._copied = False
        if not self.done:
            return
        self._batch_bytes = sum(part.nbytes for part in self.done[-1][0].data)
        if not guards.seem_finite([parameter.detach() for parameter in self.learner.parameters]):
            self.stop_if_spoilt()
        self.done = []

    def stop_if_spoilt(self) -> None:
        """Go back and end the training when a weight is not finite."""
        if self.done and (name := guards.spoilt(guards.trained(self.learner.module))):
            self._stop(name)

    def _copy(self) -> bool:
        """Copy all that a step changes; False when that is too much."""
        learner, position = self.learner, self.position
        live = [tensor.detach() for tensor in (*learner.module.parameters(), *learner.module.buffers())]
        held = [value for values in learner.optimizer.state.values() for value in values.values()]
        live += [value for value in held if isinstance(value, torch.Tensor)]
        if sum(tensor.nbytes for tensor in live) > MOST_COPIED_BYTES:
            return False
        if [tensor.data_ptr() for tensor in live] == [tensor.data_ptr() for tensor in self._live]:
            for copy, tensor in zip(self._copies, live, strict=True):
                copy.copy_(tensor)
        else:
            self._live, self._copies = live, [tensor.clone() for tensor in live]
        self._known = set(learner.optimizer.state)
        self._from = position.step, position.epoch, position.batch
        self._generators = state.generators(self._accelerator)
        self._copied = True
        return True

    def _put_back(self) -> None:
        """Undo every step since the copy."""
        for tensor, copy in zip(self._live, self._copies, strict=True):
            tensor.copy_(copy)
        for parameter in self.learner.optimizer.state.keys() - self._known:
            del self.learner.optimizer.state[parameter]
        state.set_generators(self._accelerator, self._generators)
        self.position.step, self.position.epoch, self.position.batch = self._from

    def _stop(self, name: str) -> NoReturn:
        """End the training with everything as it was before the step that spoilt `name`.

        It is the one whose gradient or update shows that when made again; where none does, the last, whose loss told.
        """
        done, self.done = self.done, []
        guilty, what = len(done) - 1, f"NaN in the gradient of {name}"
        self._put_back()
        found = next(((index, wrong) for index, each in enumerate(done) if (wrong := self._again(each))), (guilty, what))
        self._put_back()
        if OTHER_LOSS in found:
            self.report.log(f"steps gave other losses when made again, so the weights are those of step {self._from[0]}")
        else:
            guilty, what = found
            for each in done[:guilty]:
                self._again(each)
        step, epoch, batch = self._from
        guards.stop(
            self.report, what, Place(step + guilty + 1, epoch + 1, batch + guilty + 1), guards.remedy_for(self.learner.module)
        )

    def _again(self, done: Done) -> str:
        """Make a step again; gives what is wrong with it, before its update where that shows before."""
        batch, rate, number = done
        learner, position = self.learner, self.position
        learner.set_rate(rate)
        learner.optimizer.zero_grad(set_to_none=True)
        loss = self._loss_of_pair(learner.called, batch.data)
        if loss.item() != number:
            return OTHER_LOSS
        loss.backward()  # type: ignore[no-untyped-call]
        if wrong := guards.bad_gradient(learner.module):
            return wrong
        learner.optimizer.step()
        if wrong := guards.bad_update(learner.module):
            return wrong
        position.step, position.batch = position.step + 1, position.batch + 1
        return ""
