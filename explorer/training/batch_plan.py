"""Which samples of an epoch's order make which batch of which process."""

from dataclasses import dataclass

from explorer.errors import ExplorerError


@dataclass(frozen=True)
class Slice:
    """Positions `start` to `stop` of the order are one process's share of a batch of `whole` samples."""

    start: int
    stop: int
    whole: int


@dataclass(frozen=True)
class BatchPlan:
    """Batch k of an epoch is `batch_size` x `size` consecutive positions, of which each rank takes an even share.

    In training a last batch is left out that gives a rank nothing, or a single sample, which breaks batch normalization.
    With `keep_all`, as in validation, no sample is left out, and every rank still has as many batches as the others.
    """

    samples: int
    batch_size: int
    rank: int = 0
    size: int = 1
    keep_all: bool = False

    def __post_init__(self) -> None:
        if self.samples < self.size:
            raise ExplorerError(
                f"{self.samples} samples cannot be shared out to {self.size} processes", "use fewer processes or more data"
            )

    @property
    def whole(self) -> int:
        """Samples of a full batch of all ranks."""
        return min(self.batch_size * self.size, self.samples)

    @property
    def batches(self) -> int:
        full, rest = divmod(self.samples, self.whole)
        least = self.size * (1 if self.keep_all or self.whole == self.size else 2)
        return full + (rest >= least)

    @property
    def used(self) -> int:
        """Samples of an epoch in all ranks together."""
        return self.samples if self.keep_all else min(self.samples, self.batches * self.whole)

    def slice(self, index: int) -> Slice:
        """This rank's share of batch `index`, from 0."""
        start = index * self.whole
        stop = self.used if index == self.batches - 1 else start + self.whole
        whole = stop - start
        return Slice(start + whole * self.rank // self.size, start + whole * (self.rank + 1) // self.size, whole)
