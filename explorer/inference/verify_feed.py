"""The same values for two models: random ones from several seeds, sign-flipped ones, zeros, with carried state."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import ExplorerError
from explorer.inference.ports import Array, OpenShape, Port, Runner, Shape
from explorer.inference.verify_pairs import Pair, Plan

OPEN_SIZES = (16, 64, 224, 512, 32, 128, 256, 1024, 1)
LARGEST_SIZE = 65_536
MOST_TRIES = 24
LOW_IDS = 16
Values = list[Array]
Outputs = dict[str, Array]


@dataclass
class Side:
    """One of the two models with what it carries from call to call: states, and the end of the last input where it overlaps."""

    runner: Runner
    index: int
    plan: Plan
    states: dict[str, Array] = field(default_factory=dict)
    tails: dict[str, Array] = field(default_factory=dict)

    def fresh(self) -> None:
        """Forget everything carried."""
        self.runner.fresh()
        self.states, self.tails = {}, {}

    def step(self, values: Values) -> Outputs:
        """One call on `values`, one array for each pair in the first model's axes."""
        feed = {port.name: self._setting(port) for port in self.runner.inputs if port.name in self.plan.settings}
        for pair, value in zip(self.plan.pairs, values, strict=True):
            port = (pair.first, pair.second)[self.index]
            feed[port.name] = self._joined(pair, port, self._turned(pair, value)).astype(port.dtype, copy=False)
        batch = self._batch(values)
        held = self.plan.states[self.index]
        for port in self.runner.inputs:
            if port.name in held:
                feed[port.name] = self.states.get(port.name, _empty_state(port, batch))
        outputs = self.runner.call(feed)
        self.states = {name: outputs[output] for name, output in held.items()}
        return outputs

    def _setting(self, port: Port) -> Array:
        shape = tuple(size if isinstance(size, int) else 1 for size in port.shape or ())
        value: Array = np.full(shape, self.plan.settings[port.name], dtype=port.dtype)
        return value

    def _turned(self, pair: Pair, value: Array) -> Array:
        turned: Array = np.transpose(value, pair.order) if self.index == 1 and pair.order else value
        return turned

    def _joined(self, pair: Pair, port: Port, value: Array) -> Array:
        """With the end of the call before in front, for the model that does not keep it by itself."""
        count = pair.overlap if self.index == 1 else -pair.overlap
        if count <= 0:
            return value
        before = self.tails.get(port.name, np.zeros((*value.shape[:-1], count), value.dtype))
        joined: Array = np.concatenate([before, value], axis=-1)
        self.tails[port.name] = joined[..., -count:]
        return joined

    def _batch(self, values: Values) -> int:
        return values[0].shape[0] if values and values[0].ndim else 1


def _empty_state(port: Port, batch: int) -> Array:
    """Zeros; an open size is that of the batch."""
    return np.zeros([size if isinstance(size, int) else batch for size in port.shape or ()], dtype=port.dtype)


@dataclass(frozen=True)
class Sizes:
    """What open axes are filled with, and below what integers lie when no model says."""

    fill: int
    high: int

    def of(self, pair: Pair) -> Shape:
        """The sizes of a pair in the first's axes; an open first axis is a batch of one."""
        return tuple(
            size if isinstance(size, int) else (1 if axis == 0 or "batch" in _name(pair, axis) else self.fill)
            for axis, size in enumerate(pair.sizes)
        )


def _name(pair: Pair, axis: int) -> str:
    shape: OpenShape = pair.first.shape or ()
    name = shape[axis] if axis < len(shape) else None
    return name.lower() if isinstance(name, str) else ""


def settle(sides: tuple[Side, Side], seed: int) -> Sizes:
    """The first sizes that both models accept. Raises the last refusal as `ExplorerError` when none does.

    Usual sizes take turns with the numbers that refusals name, as in "expected 512, got 16".
    """
    pairs = sides[0].plan.pairs
    is_open = any(size is None for pair in pairs for size in pair.sizes[1:])
    whole = any(not port.is_float for pair in pairs for port in (pair.first, pair.second))
    refusal: ExplorerError | None = None
    for high in (LOW_IDS, 2) if whole else (LOW_IDS,):
        usual, named = list(OPEN_SIZES) if is_open else [1], list[int]()
        tried: set[int] = set()
        while (usual or named) and len(tried) < MOST_TRIES:
            queue = named if named and (not usual or len(tried) % 2) else usual
            fill = queue.pop(0)
            if fill in tried:
                continue
            tried.add(fill)
            try:
                return _accepted(sides, Sizes(fill, high), seed)
            except ExplorerError as error:
                refusal = error
                if is_open:
                    named += [size for size in _numbers(error.message) if size not in tried]
    assert refusal is not None
    names = ", ".join(pair.first.name for pair in pairs)
    raise ExplorerError(
        refusal.message, f"give the shapes of the inputs, such as {names.split(', ')[0]}=1x3x224x224"
    ) from refusal


def _numbers(text: str) -> list[int]:
    return [size for size in dict.fromkeys(int(digits[:9]) for digits in re.findall(r"\d+", text)) if 1 < size <= LARGEST_SIZE]


def _accepted(sides: tuple[Side, Side], sizes: Sizes, seed: int) -> Sizes:
    values = next(samples(sides[0].plan, sizes, 1, seed))
    try:
        for side in sides:
            side.step(values)
    finally:
        for side in sides:
            side.fresh()
    return sizes


def samples(plan: Plan, sizes: Sizes, count: int, seed: int) -> Iterator[Values]:
    """`count` inputs: the example of a factory first, then random ones; the last two are mirrored and zero."""
    for index in range(count):
        if ends_with_zeros(count) and index == count - 1:
            yield [np.zeros_like(value) for value in _drawn(plan, sizes, seed, 0)]
        elif ends_with_zeros(count) and index == count - 2:
            yield [-value if value.dtype.kind == "f" else value for value in _drawn(plan, sizes, seed, 0)]
        else:
            yield _drawn(plan, sizes, seed, index)


def ends_with_zeros(count: int) -> bool:
    """Fewer samples than four are all random."""
    return count >= 4


def _drawn(plan: Plan, sizes: Sizes, seed: int, index: int) -> Values:
    generator = np.random.default_rng([seed, index])
    return [_values(pair, sizes, generator, index) for pair in plan.pairs]


def _values(pair: Pair, sizes: Sizes, generator: np.random.Generator, index: int) -> Array:
    shape = sizes.of(pair)
    example = pair.first.example
    if index == 0 and example is not None and example.shape == shape:
        return example
    if pair.first.is_float and pair.second.is_float:
        # Unit variance, then a small and a positive signal: a branch on size or sign shows.
        scale, shift = ((1.0, 0.0), (0.1, 0.0), (0.3, 0.5))[index % 3]
        return (generator.standard_normal(shape) * scale + shift).astype(np.float32)
    return _integers(pair, sizes, generator, shape)


def _integers(pair: Pair, sizes: Sizes, generator: np.random.Generator, shape: Shape) -> Array:
    """Numbers that an index, a mask or a position may be, by the name and type of the input."""
    name, kind = pair.first.name.lower(), {np.dtype(port.dtype).kind for port in (pair.first, pair.second)}
    if "mask" in name:
        return np.ones(shape, dtype=np.int64)
    if "position" in name and shape:
        return np.broadcast_to(np.arange(shape[-1]), shape).copy()
    if "type" in name or "segment" in name or "b" in kind:
        return generator.integers(0, 2, shape)
    highs = [port.high for port in (pair.first, pair.second) if port.high is not None]
    bytes_only = any(np.dtype(port.dtype) == np.uint8 for port in (pair.first, pair.second))
    return generator.integers(0, min(highs) if highs else 256 if bytes_only else sizes.high, shape)


def stacked(rows: Sequence[Outputs], source: str) -> Outputs:
    """(samples, ...) by name; raises `ExplorerError` when shapes change from sample to sample."""
    try:
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    except (ValueError, KeyError):
        raise ExplorerError(
            f"the outputs of {source} change shape from input to input", "compare models with outputs of fixed shape"
        ) from None
