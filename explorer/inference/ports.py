"""What a model takes, in numpy's words, whatever runs it; and the shapes that a person gives for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import ExplorerError

Array = NDArray[Any]
Shape = tuple[int, ...]
OpenShape = tuple[int | str | None, ...]
LARGEST_ELEMENTS = 2**28


@dataclass(frozen=True)
class Port:
    """One input. A size that is a name or None is open; a `shape` of None leaves even the rank open.

    `default` are sizes known to work, `example` values of that shape, and integers lie below `high`.
    """

    name: str
    dtype: str
    shape: OpenShape | None
    default: Shape | None = None
    example: Array | None = None
    high: int | None = None

    @property
    def is_scalar(self) -> bool:
        return self.shape == ()

    @property
    def is_float(self) -> bool:
        return np.dtype(self.dtype).kind == "f"

    def words(self) -> str:
        """Name and shape, such as audio 1x?."""
        if self.shape is None:
            return self.name
        sizes = self.default or self.shape
        return f"{self.name} {'x'.join(str(size) if isinstance(size, int) else '?' for size in sizes) or 'scalar'}"


@dataclass
class Runner:
    """A model that runs: `call` takes arrays by input name and gives arrays by output name, `fresh` forgets what it holds.

    `outputs` are declared names with their shapes, empty where only a run tells. `context` is how many values of the
    call before a model says it keeps and puts in front by itself.
    """

    source: str
    runtime: str
    inputs: list[Port]
    call: Callable[[Mapping[str, Array]], dict[str, Array]]
    outputs: dict[str, OpenShape | None] = field(default_factory=dict)
    fresh: Callable[[], None] = lambda: None
    context: int = 0


def parse_shapes(texts: Sequence[str]) -> dict[str, Shape]:
    """`audio=1x512` and the like as sizes by name; a bare `1x512` is for the first input and has the name "".

    Raises `ExplorerError` for what is no shape.
    """
    shapes: dict[str, Shape] = {}
    for text in texts:
        name, _, sizes = text.rpartition("=")
        parts = sizes.strip().lower().split("x")
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise ExplorerError(f"{text!r} is no shape", "write name=1x3x224x224")
        shape = tuple(int(part) for part in parts)
        if len(shape) > 1 and np.prod(shape, dtype=np.float64) > LARGEST_ELEMENTS:
            raise ExplorerError(f"{text!r} is too large", f"stay below {LARGEST_ELEMENTS} elements")
        shapes[name.strip()] = shape
    return shapes
