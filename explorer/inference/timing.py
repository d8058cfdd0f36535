"""Timing several calls against each other: interleaved, in random order each round, after a warm-up."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.inference.statistics import Samples

Call = Callable[[Any], object]
Clock = Callable[[], float]

# Below this a sample is mostly the clock and the interpreter, so several calls make one sample.
MIN_SAMPLE_SECONDS = 50e-6
WARM_UP_BLOCK_ROUNDS = 10
WARM_UP_MAX_SECONDS = 5.0
WARM_UP_TOLERANCE = 0.02


def interleaved(
    calls: Sequence[Call],
    inputs: Sequence[Any],
    rounds: int,
    calls_per_sample: int,
    seed: int,
    on_round: Callable[[int], None] = lambda done: None,
    clock: Clock = time.perf_counter,
) -> NDArray[np.float64]:
    """Seconds a call, shape (rounds, calls): each round times every call once on the same input, in a fresh random order.

    Inputs take turns over the rounds. `on_round` is told the number of finished rounds. An untimed call goes before each
    sample, so that a time does not depend on what the others left in the caches.
    """
    generator = np.random.default_rng(seed)
    seconds = np.empty((rounds, len(calls)))
    for index in range(rounds):
        value = inputs[index % len(inputs)]
        for position in generator.permutation(len(calls)):
            seconds[index, position] = _sample(calls[position], value, calls_per_sample, clock)
        on_round(index + 1)
    return seconds


def warm_up(calls: Sequence[Call], inputs: Sequence[Any], seed: int, clock: Clock = time.perf_counter) -> Samples:
    """Run until the medians of two blocks of rounds agree within 2 %, or for 5 s; gives the last medians, in seconds a call."""
    end = clock() + WARM_UP_MAX_SECONDS
    before = _block_medians(calls, inputs, seed, clock)
    while True:
        after = _block_medians(calls, inputs, seed, clock)
        if clock() >= end or bool(np.all(np.abs(after / before - 1) < WARM_UP_TOLERANCE)):
            return after
        before = after


def calls_per_sample(seconds_a_call: Samples) -> int:
    """How many calls make one sample, so that the fastest one fills `MIN_SAMPLE_SECONDS`."""
    return max(1, math.ceil(MIN_SAMPLE_SECONDS / max(float(np.min(seconds_a_call)), 1e-9)))


def _block_medians(calls: Sequence[Call], inputs: Sequence[Any], seed: int, clock: Clock) -> Samples:
    block = interleaved(calls, inputs, WARM_UP_BLOCK_ROUNDS, 1, seed, clock=clock)
    return np.asarray(np.median(block, axis=0), dtype=np.float64)


def _sample(call: Call, value: Any, repeats: int, clock: Clock) -> float:
    call(value)
    start = clock()
    for _ in range(repeats):
        call(value)
    return (clock() - start) / repeats
