"""Training samples on the device, in an order that depends on seed and epoch alone."""

from collections.abc import Iterator

import torch

from explorer.datasets.load import Dataset

Batch = tuple[torch.Tensor, torch.Tensor]


class Batches:
    """All of a data set on one device; each epoch is a fixed permutation cut into batches, so any step can be gone back to."""

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, device: str) -> None:
        self.inputs = torch.from_numpy(dataset.inputs).to(device)
        self.targets = torch.from_numpy(dataset.targets).to(device)
        self.batch_size = min(batch_size, len(dataset))
        self.seed = seed
        # A last batch of one sample would break batch normalization, which needs two.
        alone = len(dataset) % self.batch_size == 1 and self.batch_size > 1
        self.samples = len(dataset) - 1 if alone else len(dataset)
        self.steps_per_epoch = -(-self.samples // self.batch_size)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch (from 0) after the first `skip`."""
        order = torch.randperm(len(self.inputs), generator=torch.Generator().manual_seed(self.seed + epoch))
        order = order[: self.samples].to(self.inputs.device)
        for chosen in torch.split(order, self.batch_size)[skip:]:
            yield self.inputs[chosen], self.targets[chosen]
