"""Makers of model files, sound and broken, for the tests of this folder."""

import io
import os
import pickle
from pathlib import Path
from typing import Any

import torch
from torch import nn

from explorer.models.inspect import run
from explorer.reporter import QuietReporter
from explorer.schemas.results import InspectResult
from explorer.schemas.specs import InspectSpec


class Net(nn.Module):
    """4 x 3 weights, 4 biases, a tied copy of the weights and a buffer of 2."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(3, 4, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.first(x) + self.second(x)
        return output


class Evil:
    """Its pickle calls os.system when loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def inspect(path: Path) -> InspectResult:
    return run(InspectSpec(source=str(path)), QuietReporter(path.parent))


def pickled(value: object, protocol: int = 2) -> bytes:
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol).dump(value)
    return stream.getvalue()
