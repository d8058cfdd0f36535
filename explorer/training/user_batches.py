"""Batches of the user's own data sets, loaders and iterables, as repeatable as our own."""

import multiprocessing
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import default_collate

from explorer.datasets.random_stream import RandomStream
from explorer.datasets.sampling import class_count
from explorer.errors import ExplorerError
from explorer.models.factories import MODULE_PREFIX
from explorer.models.user_code import blamed
from explorer.training.batch_plan import BatchPlan
from explorer.training.batches import Batch, Place
from explorer.training.losses import out_of_range
from explorer.training.nested import count_of, length_of, narrowed

# Streams of random numbers for what is drawn outside of any epoch.
TRIAL = 1 << 40
PROBED_SAMPLES = 256


class UserBatches:
    """What the user's kinds of data share. With `outputs` set, a label without its output is refused before the device fails."""

    outputs: int | None = None
    name: str
    _place: Place

    def _checked(self, data: Any) -> Any:
        """The data on the device."""
        if self.outputs is not None and isinstance(data, list | tuple) and len(data) == 2:
            targets = data[1]
            if isinstance(targets, torch.Tensor) and targets.dtype == torch.int64 and targets.numel():
                low, high = targets.aminmax()
                if low < 0 or high >= self.outputs:
                    raise out_of_range(targets, self.outputs, self.name)
        return self._place(data)


class MapBatches(UserBatches):
    """A map-style data set: our permutation, samples read when their batch is due.

    What a sample's code draws at random depends on seed, epoch, batch and rank alone, so that batches can be skipped.
    """

    def __init__(
        self,
        data: Any,
        name: str,
        batch_size: int,
        seed: int,
        place: Place,
        *,
        rank: int = 0,
        size: int = 1,
        in_order: bool = False,
    ) -> None:
        self.data, self.name, self.seed, self.in_order = data, name, seed, in_order
        self.plan = BatchPlan(len(data), batch_size, rank, size, keep_all=in_order)
        self.batch_size = self.plan.whole // size
        self.batches_per_epoch = self.plan.batches
        self.samples = self.plan.used
        self._place = place
        self._stream = RandomStream(seed)
        self.classes = classes_of(data, lambda: self._read(list(self._spread()), TRIAL))

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        order = range(self.plan.samples) if self.in_order else self._order(epoch)
        for index in range(skip, self.plan.batches):
            part = self.plan.slice(index)
            own = part.stop - part.start
            data = self._read(order[part.start : part.stop], epoch, index, self.plan.rank)
            yield Batch(self._checked(data), own, self.plan.size * own / part.whole, index)

    def first(self, samples: int = 2) -> Any:
        return self._place(self._read(range(min(samples, self.plan.samples)), TRIAL))

    def _order(self, epoch: int) -> list[int]:
        order: list[int] = torch.randperm(self.plan.samples, generator=torch.Generator().manual_seed(self.seed + epoch)).tolist()
        return order

    def _read(self, positions: Iterable[int], *seeds: int) -> Any:
        self._stream.restart(self.seed, *seeds)
        with self._stream:
            samples = [self._sample(position) for position in positions]
            return collated(samples, self.name)

    def _sample(self, position: int) -> Any:
        with blamed(f"sample {position} of {self.name} failed"):
            return self.data[position]

    def _spread(self) -> range:
        """A few samples from all over the data, for a look at their targets."""
        return range(0, self.plan.samples, max(1, self.plan.samples // PROBED_SAMPLES))


class LoaderBatches(UserBatches):
    """Batches from the user's loader, or from any iterable that can be gone through again.

    While it runs, it draws from a stream of random numbers by seed and epoch, so that its shuffling repeats itself and nobody
    else's numbers change. Batches are skipped by reading them.
    """

    def __init__(self, data: Any, name: str, batch_size: int, seed: int, place: Place) -> None:
        self.data, self.name, self.seed = data, name, seed
        _check_workers(data, name)
        self.batch_size = int(getattr(data, "batch_size", None) or batch_size)
        self._place = place
        self.batches_per_epoch = length_of(data)
        self.samples = length_of(getattr(data, "dataset", None))
        trial = self._trial()
        self._first = trial
        if not hasattr(data, "batch_size"):
            self.batch_size = count_of(trial)
        self.classes = classes_of(data, lambda: trial)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        for index, data in enumerate(self._run(epoch)):
            if index >= skip:
                yield Batch(self._checked(data), count_of(data), 1.0, index)

    def first(self, samples: int = 2) -> Any:
        return self._place(narrowed(self._first, samples))

    def _trial(self) -> Any:
        for data in self._run(TRIAL):
            return data
        raise ExplorerError(f"{self.name} gives no batches", "give some samples, or a smaller batch size")

    def _run(self, epoch: int) -> Iterator[Any]:
        stream = RandomStream(self.seed, epoch)
        what = f"the data of {self.name} failed"
        with stream, blamed(what):
            set_epoch(self.data, epoch)
            batches = iter(self.data)
        while True:
            with stream, blamed(what):
                try:
                    data = next(batches)
                except StopIteration:
                    return
            yield data


class SampleBatches:
    """Samples of an iterable data set, put together to batches, but for a last single one, which breaks batch normalization."""

    def __init__(self, data: Iterable[Any], batch_size: int) -> None:
        self.data = data
        self.dataset = data
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[Any]:
        samples: list[Any] = []
        for sample in self.data:
            samples.append(sample)
            if len(samples) == self.batch_size:
                yield collated(samples, "the data")
                samples = []
        if len(samples) > 1 or (samples and self.batch_size == 1):
            yield collated(samples, "the data")


def _check_workers(data: Any, name: str) -> None:
    """Where processes are spawned, as on a Mac, workers import the data set's class by its module, which a file's is not."""
    if not getattr(data, "num_workers", 0):
        return
    method = getattr(data.multiprocessing_context, "_name", None) or multiprocessing.get_start_method()
    if method != "fork" and type(data.dataset).__module__.startswith(MODULE_PREFIX):
        raise ExplorerError(
            f"the loader of {name} has workers, which cannot import the file", "set num_workers=0, or give package.module:factory"
        )


def collated(samples: list[Any], name: str) -> Any:
    """Samples put together to a batch, by torch's rules."""
    try:
        return default_collate(samples)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ExplorerError(
            f"samples of {name} do not make a batch ({reason})", "give tensors of the same shapes and kinds"
        ) from None


def set_epoch(data: Any, epoch: int) -> None:
    """Tell a sampler or a loader which epoch it is, as torch's DistributedSampler wants to know."""
    for owner in (data, getattr(data, "sampler", None), getattr(data, "batch_sampler", None), getattr(data, "dataset", None)):
        if callable(tell := getattr(owner, "set_epoch", None)):
            tell(epoch if epoch < TRIAL else 0)


def classes_of(data: Any, batch: Any) -> int | None:
    """How many classes a user's data has: what it says, else the largest label of a few samples and one; None for values."""
    if (count := class_count(data)) is not None:
        return count
    some = batch()
    targets = some[1] if isinstance(some, list | tuple) and len(some) == 2 else None
    if isinstance(targets, torch.Tensor) and not targets.is_floating_point() and targets.numel():
        return max(1, int(targets.max()) + 1)
    return None
