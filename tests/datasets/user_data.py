"""Data factories as users write them: named by tests as `user_data.py:name`."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, TensorDataset, random_split

X = torch.arange(60, dtype=torch.float32).reshape(20, 3)
Y = torch.arange(20) % 4


class Squares(Dataset[tuple[torch.Tensor, int]]):
    """Ten samples by index; draws noise from all three global generators."""

    classes = ("even", "odd")

    def __init__(self, count: int = 10, fault: int = -1) -> None:
        self.count, self.fault = count, fault
        self.targets = [index % 2 for index in range(count)]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index == self.fault:
            raise KeyError("no such picture")
        noise = torch.rand(1).item() + np.random.random() + random.random()
        return torch.tensor([float(index), noise]), self.targets[index]


class Stream(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return ((X[index], Y[index]) for index in torch.randperm(20).tolist())


class Rows:
    """A map-style data set that is not torch's, as those of other libraries."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"pixels": X[index], "label": int(Y[index])}


def arrays() -> Any:
    return X.numpy(), Y.numpy()


def tensors(count: int = 20) -> Any:
    return X[:count], Y[:count]


def two_pairs() -> Any:
    return (X, Y), (X[:5], Y[:5])


def named() -> Any:
    return {"train": TensorDataset(X, Y), "validation": TensorDataset(X[:6], Y[:6])}


def randomly_split() -> Any:
    train, held_out = random_split(TensorDataset(X, Y), [15, 5])
    return train, held_out


def squares(count: int = 10, fault: int = -1) -> Any:
    return Squares(count, fault)


def two_squares() -> Any:
    return Squares(10), Squares(4)


def loader(batch_size: int = 4, workers: int = 0) -> Any:
    return DataLoader(Squares(10), batch_size=batch_size, shuffle=True, num_workers=workers)


def two_loaders() -> Any:
    return DataLoader(Squares(10), batch_size=4, shuffle=True), DataLoader(Squares(6), batch_size=3)


def distributed() -> Any:
    data = Squares(10)
    return DataLoader(data, batch_size=2, sampler=DistributedSampler(data, num_replicas=2, rank=0))


def own_share(rank: int, size: int) -> Any:
    return TensorDataset(X[rank::size], Y[rank::size])


def stream() -> Any:
    return Stream()


def batches() -> Any:
    return [(X[at : at + 5], Y[at : at + 5]) for at in range(0, 20, 5)]


def rows() -> Any:
    return Rows()


def once() -> Any:
    return iter(batches())


def tokens() -> Any:
    numbers = torch.arange(60).reshape(12, 5) % 7
    return numbers, numbers.roll(-1, dims=1)


def values() -> Any:
    return X, X.sum(1) / 7


def nothing() -> Any:
    return []


def number() -> Any:
    return 7


def one_tensor() -> Any:
    return X


def uneven() -> Any:
    return [(X[:5], Y[:5]), (X[:5, :2], Y[:5])]


def misnamed() -> Any:
    return {"train": batches(), "test": batches()}


def broken() -> Any:
    raise FileNotFoundError("photos are gone")
