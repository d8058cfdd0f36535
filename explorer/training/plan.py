"""How many steps there are, and what of them is left."""

from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.position import Position


class Plan:
    """Counts from the spec and the batches of an epoch, which are None where the data does not say."""

    def __init__(self, spec: TrainSpec, batches_per_epoch: int | None, processes: int) -> None:
        self.epochs = spec.epochs
        self.accumulated = spec.accumulate_batches
        self.batches_per_epoch = batches_per_epoch
        if batches_per_epoch is None:
            if processes > 1 and self.accumulated > 1:
                raise ExplorerError(
                    "several processes cannot accumulate batches of data that does not say how many it has",
                    "take accumulate_batches 1, or give the data a length",
                )
            self.steps_per_epoch, self.epochs_steps = None, None
        else:
            self.steps_per_epoch = -(-batches_per_epoch // self.accumulated)
            self.epochs_steps = self.epochs * self.steps_per_epoch
        known = [steps for steps in (self.epochs_steps, spec.max_steps) if steps is not None]
        self.total_steps = min(known, default=None)

    def count(self, batch: int) -> int:
        """How many batches make the step that begins with batch `batch` (from 0) of an epoch."""
        if self.accumulated == 1 or self.batches_per_epoch is None:
            return self.accumulated
        return max(1, min(self.accumulated, self.batches_per_epoch - batch))

    def steps_left(self, position: Position) -> int | None:
        """None where the end cannot be known."""
        return None if self.total_steps is None else max(0, self.total_steps - position.step)

    def validations_left(self, position: Position) -> int:
        """One at the end of each epoch, and one at the end of a run that ends within one."""
        left = self.steps_left(position)
        if left is None or self.steps_per_epoch is None or self.total_steps is None:
            return 0
        ends = -(-self.total_steps // self.steps_per_epoch)
        return max(0, ends - position.epoch)
