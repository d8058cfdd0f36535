"""Batches of samples on the device, in an order that depends on seed and epoch alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from explorer.datasets.dataset import Dataset
from explorer.models.user_code import is_out_of_memory
from explorer.training.batch_plan import BatchPlan

Place = Callable[[Any], Any]


@dataclass(slots=True)
class Batch:
    """`data` on the device: (inputs, targets), or whatever a user's loader gives.

    `samples` are this process's own. The mean over all processes of `weight` x (mean over own samples) is the mean over the
    whole batch. `index` counts from 0 within the epoch.
    """

    data: Any
    samples: int
    weight: float = 1.0
    index: int = 0


class BatchSource(Protocol):
    """Batches by epoch, for one process of several.

    `batch_size` is of one process; `samples` is an epoch's of all processes together; None where it cannot be known.
    """

    @property
    def name(self) -> str: ...
    @property
    def classes(self) -> int | None: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def batches_per_epoch(self) -> int | None: ...
    @property
    def samples(self) -> int | None: ...

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch (from 0) after the first `skip`: the same for the same seed and epoch."""
        ...

    def first(self, samples: int = 2) -> Any:
        """The data of a few samples on the device, for a trial run. Changes nothing that the epochs give."""
        ...


class ArrayBatches:
    """All of a data set on the device, or beside it where it does not fit there.

    Each epoch is a permutation by seed and epoch; with `in_order` it is the data's own order and no sample is left out.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        place: Place,
        *,
        rank: int = 0,
        size: int = 1,
        in_order: bool = False,
    ) -> None:
        self.name = dataset.name
        self.classes = dataset.classes
        self.seed = seed
        self.in_order = in_order
        self.plan = BatchPlan(len(dataset), batch_size, rank, size, keep_all=in_order)
        self.batch_size = self.plan.whole // size
        self.batches_per_epoch = self.plan.batches
        self.samples = self.plan.used
        self._place = place
        self._data, self._placed = _placed(dataset, place)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch (from 0) after the first `skip`."""
        order = None if self.in_order else self._order(epoch)
        for index in range(skip, self.plan.batches):
            part = self.plan.slice(index)
            own = part.stop - part.start
            chosen = slice(part.start, part.stop) if order is None else order[part.start : part.stop]
            yield Batch(self._taken(chosen), own, self.plan.size * own / part.whole, index)

    def first(self, samples: int = 2) -> Any:
        return self._taken(slice(0, samples))

    def _order(self, epoch: int) -> torch.Tensor:
        order = torch.randperm(self.plan.samples, generator=torch.Generator().manual_seed(self.seed + epoch))
        return order.to(self._data[0].device)

    def _taken(self, chosen: slice | torch.Tensor) -> Any:
        inputs, targets = self._data
        taken = inputs[chosen], targets[chosen]
        if isinstance(chosen, slice):  # a view, through which a model that works in place would change the data
            taken = taken[0].clone(), taken[1].clone()
        return taken if self._placed else self._place(taken)


def _placed(dataset: Dataset, place: Place) -> tuple[tuple[torch.Tensor, torch.Tensor], bool]:
    """The whole data set on the device and True, or where it is and False when the device has no room for it."""
    data = torch.from_numpy(dataset.inputs), torch.from_numpy(dataset.targets)
    try:
        inputs, targets = place(data)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return data, False
    return (inputs, targets), True
