"""One of two processes of a group: prints as JSON what every method of it gives."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from explorer.errors import Cancelled
from explorer.reporter import Orders, QuietReporter
from explorer.training.parallel import DataParallel, Group

ORDERS = [
    Orders(),
    Orders(checkpoint=True, stop=True, learning_rate=0.125, learning_rate_factor=3.0, log_every_steps=7),
    Orders(learning_rate_factor=0.5),
]


class Commanding(QuietReporter):
    """Gives each of `ORDERS`, then cancels."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._orders = iter(ORDERS)

    def control(self) -> Orders:
        try:
            return next(self._orders)
        except StopIteration:
            raise Cancelled from None


def main(store: str, rank: int) -> dict[str, object]:
    os.environ["LOCAL_RANK"] = str(rank)
    with joined(store, rank) as group:
        report = Commanding(Path(store).parent)
        answers: dict[str, object] = {
            "total": group.total([0.1 * (rank + 1), 1e-17, float(rank)]),
            "gather": [[name, values.tolist()] for name, values in group.gather(("x" * rank, torch.arange(rank + 2)))],
            "share": group.share({"from": rank, "state": torch.full((3,), float(rank))})["state"].tolist(),
            "gradients": gradients(group, rank),
        }
        answers["calls"], answers["orders"] = called(group, report)
        answers["findings"] = report.findings
        return answers


def called(group: Group, report: Commanding) -> tuple[list[int], list[str]]:
    """At which calls of `control` which orders came, the last being a `Cancelled`."""
    found: dict[int, str] = {}
    for call in range(1000):
        try:
            if orders := group.control(report):
                found[call] = repr(orders)
        except Cancelled:
            return [*found, call], list(found.values())
    return [], []


def gradients(group: Group, rank: int) -> list[float]:
    """The gradient after a batch that accumulates and after the one that does not, and the plain module's first weight name."""
    torch.manual_seed(rank)
    linear = nn.Linear(1, 1, bias=False)
    module = nn.Sequential(linear, nn.BatchNorm1d(1))
    wrapped = group.wrap(module)
    weight = linear.weight
    seen = [weight.item()]
    with group.accumulating(wrapped):
        backward(module_output(wrapped, weight) * (rank + 1.0))
    seen.append(gradient(weight))
    backward(module_output(wrapped, weight) * (rank + 1.0))
    assert next(iter(module.state_dict())) == "0.weight", "the module itself stays plain"
    return [*seen, gradient(weight)]


def module_output(wrapped: nn.Module, weight: torch.Tensor) -> torch.Tensor:
    """A loss whose gradient by the weight is one: the output of the batch norm counts nothing."""
    output: torch.Tensor = wrapped(torch.tensor([[1.0], [2.0]]))
    return output.sum() * 0 + weight.sum()


def backward(loss: torch.Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def gradient(weight: torch.Tensor) -> float:
    assert weight.grad is not None
    return weight.grad.item()


@contextmanager
def joined(store: str, rank: int) -> Iterator[Group]:
    dist.init_process_group("gloo", init_method=Path(store).as_uri(), rank=rank, world_size=2)
    yield DataParallel("cpu")
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
