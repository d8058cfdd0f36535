"""How long each module takes on the CPU, by hooks, as medians over rounds.

A CPU operator has finished when its call returns, so the clock needs no further synchronisation.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor, nn

from explorer.inference.torch_settings import torch_threads

WARM_UP_ROUNDS = 3
ROUNDS = 30
LEAST_ROUNDS = 5
LONGEST_SECONDS = 10.0


@dataclass(frozen=True)
class Timed:
    """Milliseconds a call: `whole_ms` without hooks, `hooked_ms` with them, and of each module by path, parts included."""

    whole_ms: float
    hooked_ms: float
    by_module_ms: dict[str, float]
    rounds: int


def time_layers(module: nn.Module, inputs: Sequence[Tensor], threads: int, on_round: Callable[[int], None]) -> Timed:
    """Alternate plain and hooked calls, at most 30 times or for 10 s; modules called several times have their times added."""
    plain: list[float] = []
    hooked: list[dict[str, float]] = []
    with torch_threads(threads), torch.inference_mode():
        for _ in range(WARM_UP_ROUNDS):
            module(*inputs)
        start = time.perf_counter()
        while len(plain) < ROUNDS and (len(plain) < LEAST_ROUNDS or time.perf_counter() - start < LONGEST_SECONDS):
            on_round(len(plain))
            before = time.perf_counter()
            module(*inputs)
            plain.append(time.perf_counter() - before)
            with _clocked(module) as seconds:
                module(*inputs)
            hooked.append(seconds)
    by_module = {path: median(row.get(path, 0.0) for row in hooked) * 1e3 for path in hooked[0]}
    return Timed(median(plain) * 1e3, by_module.get("", 0.0), by_module, len(plain))


@contextmanager
def _clocked(module: nn.Module) -> Iterator[dict[str, float]]:
    """Inside, the seconds of each module's calls add up by path."""
    seconds: dict[str, float] = {}
    handles = [handle for path, part in module.named_modules() for handle in _hooks(part, path, seconds)]
    try:
        yield seconds
    finally:
        for handle in handles:
            handle.remove()


def _hooks(part: nn.Module, path: str, seconds: dict[str, float]) -> tuple[torch.utils.hooks.RemovableHandle, ...]:
    starts: list[float] = []

    def enter(*_: object) -> None:
        starts.append(time.perf_counter())

    def leave(*_: object) -> None:
        seconds[path] = seconds.get(path, 0.0) + time.perf_counter() - starts.pop()

    return part.register_forward_pre_hook(enter), part.register_forward_hook(leave)
