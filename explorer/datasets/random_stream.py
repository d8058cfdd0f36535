"""A stream of random numbers of its own for code that draws from the global generators."""

import random
from types import TracebackType
from typing import Any

import numpy as np
import torch
from numpy.random import mtrand


class RandomStream:
    """Within the block, torch's CPU generator, numpy's and Python's draw from this stream; after it they go on as before.

    Entered again, it goes on where it was left, so that what is drawn depends on the seeds alone and disturbs nobody.
    """

    def __init__(self, *seeds: int) -> None:
        # Changing numpy's generator for another is fifty times as fast as saving and setting its state.
        self._numpy = np.random.MT19937(0)
        self._own: tuple[torch.Tensor, Any] | None = None
        self._outer: tuple[torch.Tensor, Any, Any] | None = None
        self.restart(*seeds)

    def restart(self, *seeds: int) -> None:
        """Begin the stream of these seeds when it is entered next."""
        self._seed = int(np.random.SeedSequence(list(seeds)).generate_state(1)[0])
        self._own = None

    def __enter__(self) -> None:
        self._outer = torch.get_rng_state(), random.getstate(), mtrand.get_bit_generator()
        mtrand.set_bit_generator(self._numpy)
        if self._own is None:
            torch.default_generator.manual_seed(self._seed)  # torch.manual_seed would seed the devices as well
            np.random.seed(self._seed)
            random.seed(self._seed)
        else:
            torch.set_rng_state(self._own[0])
            random.setstate(self._own[1])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._own = torch.get_rng_state(), random.getstate()
        if self._outer is not None:
            torch.set_rng_state(self._outer[0])
            random.setstate(self._outer[1])
            mtrand.set_bit_generator(self._outer[2])
