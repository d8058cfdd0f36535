"""Data parallel training: the processes of one group, what each computes and what they tell each other.

Started by torch's elastic launcher, which sets RANK, LOCAL_RANK and WORLD_SIZE. Gradients travel in torch's
DistributedDataParallel; everything else goes over a second group on the CPU, whose waits may take days.
"""

import io
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import NO_ORDERS, Orders, Reporter
from explorer.schemas.train_spec import TrainSpec
from explorer.training.rank_life import PeerGoneError

# A pause holds every process inside one broadcast.
LONGEST_PAUSE = timedelta(days=365)
# Asking together costs a tenth of a short step, so ranks ask each twentieth of a second, or each step where that is longer.
CONTROL_INTERVAL_S = 0.05
# Calls may become much slower at once, as when validation begins.
MOST_PASSED_OVER = 8


class Group(Protocol):
    """The processes that train one model together; every method but `wrap` and `accumulating` is called by all or none."""

    rank: int
    size: int
    local_rank: int
    first: bool

    def wrap(self, module: nn.Module, *, unused_parameters: bool = False) -> nn.Module:
        """The module as training steps call it: its gradients are averaged over the group in `backward`.

        `module` itself stays plain: take the state dict and validate with it. Weights of rank 0 go to all. `unused_parameters`
        when some take no part in a step; that costs a walk of the graph per step.
        """
        ...

    def accumulating(self, module: nn.Module) -> AbstractContextManager[None]:
        """Around forward and backward of every batch of a step but its last: gradients stay here until that one."""
        ...

    def control(self, report: Reporter) -> Orders:
        """What rank 0's reporter says, on every rank at the same call; waits while paused. Raises `Cancelled` on every rank."""
        ...

    def total(self, values: Sequence[float]) -> list[float]:
        """The sums over all ranks, equal on each of them to the last bit."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """The value of each rank, in their order, on every rank: tensors on the CPU, numbers, texts, lists, tuples, dicts."""
        ...

    def share(self, value: Any) -> Any:
        """Rank 0's value on every rank, such as a checkpoint that only its machine holds; what others pass is not looked at."""
        ...


class Alone:
    """The group of a training in one process."""

    rank = 0
    size = 1
    local_rank = 0
    first = True

    def wrap(self, module: nn.Module, *, unused_parameters: bool = False) -> nn.Module:
        return module

    def accumulating(self, module: nn.Module) -> AbstractContextManager[None]:
        return nullcontext()

    def control(self, report: Reporter) -> Orders:
        return report.control()

    def total(self, values: Sequence[float]) -> list[float]:
        return list(values)

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def share(self, value: Any) -> Any:
        return value


ALONE: Group = Alone()


class DataParallel:
    """The group that torch's launcher started this process in."""

    def __init__(self, device_kind: str) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
        self.first = self.rank == 0
        self._cuda = device_kind == "cuda"
        self._talk = dist.new_group(backend="gloo", timeout=LONGEST_PAUSE)
        self._batch_norms = False
        self._asked_s = 0.0
        self._passed_over = self._to_pass_over = 0

    def wrap(self, module: nn.Module, *, unused_parameters: bool = False) -> nn.Module:
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise ExplorerError("the model has no parameters to train", "train one that has, or train in one process")
        if any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in module.modules()):
            if self._cuda:
                module = nn.SyncBatchNorm.convert_sync_batchnorm(module)  # type: ignore[no-untyped-call]
            else:
                self._batch_norms = True
        device_ids = [self.local_rank] if self._cuda else None
        return DistributedDataParallel(module, device_ids=device_ids, find_unused_parameters=unused_parameters)

    def accumulating(self, module: nn.Module) -> AbstractContextManager[None]:
        return module.no_sync() if isinstance(module, DistributedDataParallel) else nullcontext()

    def control(self, report: Reporter) -> Orders:
        self._say_once(report)
        if self._passed_over < self._to_pass_over:
            self._passed_over += 1
            return NO_ORDERS
        numbers = torch.zeros(_ORDER_NUMBERS, dtype=torch.float64)
        if self.first:
            try:
                numbers = _as_numbers(report.control())
            except Cancelled:
                numbers[0] = _CANCELLED
            numbers[-1] = self._calls_within_interval()
        dist.broadcast(numbers, src=0, group=self._talk)
        self._passed_over, self._to_pass_over = 0, int(numbers[-1])
        return _as_orders(numbers.tolist()[:-1])

    def total(self, values: Sequence[float]) -> list[float]:
        numbers = torch.tensor(list(values), dtype=torch.float64)
        dist.all_reduce(numbers, group=self._talk)
        return [float(number) for number in numbers]

    def gather(self, value: Any) -> list[Any]:
        own = _packed(value)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([own.numel()]), group=self._talk)
        longest = max(int(size) for size in sizes)
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: own.numel()] = own
        rows = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        dist.all_gather(rows, padded, group=self._talk)
        return [_unpacked(row[: int(size)]) for row, size in zip(rows, sizes, strict=True)]

    def share(self, value: Any) -> Any:
        packed = _packed(value) if self.first else torch.zeros(0, dtype=torch.uint8)
        size = torch.tensor([packed.numel()])
        dist.broadcast(size, src=0, group=self._talk)
        if not self.first:
            packed = torch.zeros(int(size), dtype=torch.uint8)
        dist.broadcast(packed, src=0, group=self._talk)
        return value if self.first else _unpacked(packed)

    def _calls_within_interval(self) -> int:
        """How many of the next calls may pass without asking, going by how long those since the last one took."""
        now = time.perf_counter()
        seconds_each = (now - self._asked_s) / (self._passed_over + 1)
        self._asked_s = now
        return min(MOST_PASSED_OVER, int(CONTROL_INTERVAL_S / seconds_each))

    def _say_once(self, report: Reporter) -> None:
        """The first call with a reporter says what `wrap` found."""
        if self._batch_norms:
            self._batch_norms = False
            report.finding(
                "info",
                "batch norm sees the samples of one process",
                f"its statistics come from a batch of one of {self.size} processes; the running ones that are kept are of rank 0",
                "use group or layer norm, or a batch size that is large enough for one process",
            )


@contextmanager
def open_group(spec: TrainSpec, device_kind: str) -> Iterator[Group]:
    """The group of this process for the block; `ALONE` without a launcher's WORLD_SIZE in the environment.

    Sets torch's threads to this process's share of the CPU. Raises `ExplorerError` for a device or backend that cannot do it,
    and in the place of torch's own errors about lost processes and unused parameters.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ALONE
        return
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    backend = choose_backend(spec.backend, device_kind, local_size, torch.cuda.device_count())
    torch.set_num_threads(spec.threads or threads_each(local_size))
    if device_kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    try:
        dist.init_process_group(backend)
        yield DataParallel(device_kind)
    except Exception as error:
        # The connections stay open until this process has said why it fails, so that the others fail after it.
        raise explained(error) from error
    dist.destroy_process_group()


def choose_backend(asked: str, device_kind: str, local_size: int, gpus: int) -> str:
    """The backend of torch.distributed for `local_size` processes on this machine; raises `ExplorerError` for none."""
    if device_kind == "mps":
        raise ExplorerError(
            "torch has no backend that joins processes on MPS", "take device cpu, where gloo does, or train in one process on MPS"
        )
    if device_kind not in ("cpu", "cuda"):
        raise ExplorerError(f"data parallel runs on cpu and cuda, not on {device_kind}", "train in one process there")
    if device_kind == "cuda" and local_size > gpus:
        raise ExplorerError(
            f"{local_size} processes need a GPU each, and this machine has {gpus}", f"take processes {max(gpus, 1)}"
        )
    if asked == "nccl" and device_kind != "cuda":
        raise ExplorerError(f"the nccl backend needs CUDA, and the device is {device_kind}", "take backend gloo or auto")
    if asked != "auto":
        return asked
    return "nccl" if device_kind == "cuda" and dist.is_nccl_available() else "gloo"


def threads_each(local_size: int) -> int:
    """CPU threads for each of the processes on this machine, all of them together using what this one may."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cpus // local_size)


def explained(error: Exception) -> Exception:
    """Torch's errors about the group as a person should read them; any other error as it is."""
    text = str(error)
    if "Expected to have finished reduction in the prior iteration" in text:
        return ExplorerError(
            "some parameters of the model took no part in the loss, so the processes cannot average their gradients",
            "freeze them with requires_grad_(False), use them in forward, or train in one process",
        )
    if isinstance(error, dist.DistBackendError) or any(sign in text for sign in _SIGNS_OF_A_LOST_PEER):
        return PeerGoneError("another process of this training is gone", "see its log, or what its launcher printed")
    return error


_SIGNS_OF_A_LOST_PEER = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Application timeout caused pair closure",
)
_CANCELLED, _NOTHING, _ORDERED = -1.0, 0.0, 1.0
_ORDER_NUMBERS = 7


def _as_numbers(orders: Orders) -> torch.Tensor:
    """Orders as one small tensor, since they travel before every step; the last number is left to the group."""
    numbers = [
        _ORDERED if orders else _NOTHING,
        float(orders.checkpoint),
        float(orders.stop),
        math.nan if orders.learning_rate is None else orders.learning_rate,
        orders.learning_rate_factor,
        float(orders.log_every_steps or 0),
        0.0,
    ]
    return torch.tensor(numbers, dtype=torch.float64)


def _as_orders(numbers: list[float]) -> Orders:
    """Undo `_as_numbers`; raises `Cancelled`."""
    kind, checkpoint, stop, learning_rate, factor, log_every = numbers
    if kind == _CANCELLED:
        raise Cancelled
    if kind == _NOTHING:
        return NO_ORDERS
    return Orders(
        checkpoint=bool(checkpoint),
        stop=bool(stop),
        learning_rate=None if math.isnan(learning_rate) else learning_rate,
        learning_rate_factor=factor,
        log_every_steps=int(log_every) or None,
    )


def _packed(value: Any) -> torch.Tensor:
    """A value as bytes in torch's file format."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)


def _unpacked(packed: torch.Tensor) -> Any:
    """Undo `_packed` without running code from another machine."""
    return torch.load(io.BytesIO(packed.numpy().tobytes()), weights_only=True, map_location="cpu")
