"""What a part of a training script consists of."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Piece:
    """`constants` and `functions` are Python text for the top of the script; `files` are copied beside it, by name.

    `needs` are packages beyond torch and numpy.
    """

    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Data:
    """What a script's `load_data` gives: arrays, a map-style data set, or a loader of batches.

    `classes` are integers to tell apart (else values to predict); without `held_out` nothing is validated. `numbers` are those
    of one sample's input, `batch_size` is a loader's own, which is `endless` when it has no length and gives
    single `samples` where they are put together here.
    """

    piece: Piece
    kind: Literal["arrays", "map", "batches"]
    classes: bool
    held_out: bool
    numbers: int = 1
    batch_size: int | None = None
    endless: bool = False
    samples: bool = False
