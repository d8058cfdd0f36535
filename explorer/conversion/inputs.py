"""What a conversion is proven on: the user's own inputs where there are any, else seeded ones, mirrored ones, shape extremes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.conversion.ports import InputPort, Traced, pixels, run_flat
from explorer.conversion.values import extremes, flipped, like
from explorer.datasets.load import read
from explorer.errors import ExplorerError
from explorer.models.user_code import is_out_of_memory
from explorer.schemas.specs import ConvertSpec

Array = NDArray[Any]
SEEDS = 3
MIRRORED = "mirrored"
MIRRORED_SAMPLES = 16
BATCH = 64
INT32 = torch.iinfo(torch.int32)


@dataclass(frozen=True)
class Feed:
    """Inputs of one call by name with the outputs that the source gives for them; `origin` says where they come from."""

    inputs: dict[str, Array]
    expected: dict[str, Array]
    origin: str


@dataclass(frozen=True)
class Proof:
    """Every feed in order; `classes` when the first output's last axis scores classes, `skipped` what the source itself refused.

    With `carries_state` each feed starts from the state that the one before left.
    """

    feeds: list[Feed]
    classes: bool = False
    skipped: list[str] = field(default_factory=list)
    carries_state: bool = False


def data_sample(name: str | None) -> Tensor | None:
    """One sample of a data set, as an example input."""
    if name is None:
        return None
    parts = read(name)
    return torch.from_numpy((parts.held_out or parts.train).spread(1).inputs[:1].copy())


def proof_inputs(spec: ConvertSpec, traced: Traced, data: str | None) -> Proof:
    """Feeds of `check_inputs`, of the data, or the example and seeded ones; then a mirrored one and the shape extremes.

    Raises `ExplorerError` when they do not fit, hold integers beyond 32 bits for Core ML, or the source fails on the example.
    """
    if spec.data is not None and len(traced.inputs) > 1:
        raise ExplorerError(
            f"{spec.source} takes {len(traced.inputs)} inputs, a data set gives one", "give them with check_inputs"
        )
    maker = _Maker(spec, traced)
    classes = None
    if spec.check_inputs is not None:
        maker.add_all(_own(spec.check_inputs, spec.check_samples, traced), f"samples of {spec.check_inputs}")
    elif data is not None and len(traced.inputs) == 1:
        classes = maker.add_data(data)
    else:
        maker.add(list(traced.examples), "the example", required=True)
        for seed in range(1, SEEDS + 1):
            maker.add(maker.random(seed, [tuple(item.shape) for item in traced.examples]), f"seed {seed}")
    maker.add_mirrored()
    for name, shapes in extremes(traced):
        sizes = ", ".join("x".join(map(str, shape)) for shape in shapes)
        maker.add(maker.random(SEEDS + 1, shapes), f"{name} {sizes}", say=True)
    first = next(iter(maker.feeds[0].expected.values()))
    scores = classes is not None and first.ndim == 2 and first.shape[-1] >= classes
    return Proof(maker.feeds, scores or spec.labels is not None, maker.skipped, bool(spec.state))


def merged(proof: Proof, batch: int = BATCH) -> Proof:
    """The same with samples of one shape joined along the first dimension, at most `batch` a call, and the first one alone."""
    groups: dict[str, list[Feed]] = {}
    for feed in proof.feeds:
        shapes = [(name, value.shape[1:]) for name, value in feed.inputs.items()]
        groups.setdefault(f"{shapes} {feed.origin == MIRRORED}", []).append(feed)
    joined = [
        _joined(pieces)
        for group in groups.values()
        for start in range(0, len(group), batch)
        if (pieces := group[start : start + batch])
    ]
    alone = [proof.feeds[0]] if len(proof.feeds) > 1 else []
    return Proof([*joined, *alone], proof.classes, proof.skipped)


def _joined(feeds: Sequence[Feed]) -> Feed:
    def together(pieces: list[Array]) -> Array:
        return np.concatenate(pieces) if pieces[0].ndim else pieces[0]

    names, outputs = feeds[0].inputs, feeds[0].expected
    origins = list(dict.fromkeys(feed.origin for feed in feeds))
    return Feed(
        {name: together([feed.inputs[name] for feed in feeds]) for name in names},
        {name: together([feed.expected[name] for feed in feeds]) for name in outputs},
        ", ".join(origins),
    )


class _Maker:
    """Runs the source on inputs and keeps what comes of it."""

    def __init__(self, spec: ConvertSpec, traced: Traced) -> None:
        self.feeds: list[Feed] = []
        self.skipped: list[str] = []
        self._spec, self._traced = spec, traced
        self._names = [port.name for port in traced.inputs]
        if spec.state:
            for name, buffer in traced.original.named_buffers():
                if name in spec.state:
                    buffer.zero_()

    def random(self, seed: int, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
        pairs = zip(self._traced.examples, self._traced.inputs, shapes, strict=True)
        return [like(example, port, shape, seed * 1000 + index) for index, (example, port, shape) in enumerate(pairs)]

    def add(self, values: Sequence[Tensor], origin: str, required: bool = False, say: bool = False) -> None:
        """Run the source once; one that it refuses or answers with NaN is skipped unless it is required."""
        self._check_range(values)
        try:
            outputs = _run(self._traced, values)
        except Exception as error:
            if required or is_out_of_memory(error):
                raise self._failed(values, error) from error
            if say:
                self.skipped.append(f"the source fails at the {origin} ({_reason(error)})")
            return
        if required or all(np.isfinite(item).all() for item in outputs.values()):
            self.feeds.append(Feed(self._arrays(values), outputs, origin))

    def add_all(self, samples: Sequence[Sequence[Tensor]], origin: str) -> None:
        """Run the source on every sample, in batches where it treats samples alike."""
        for start in range(0, len(samples), BATCH):
            part = samples[start : start + BATCH]
            together = [torch.cat(pieces) for pieces in zip(*part, strict=True)] if self._joins(part) else None
            outputs = self._batched(together, part) if together is not None and not self._spec.state else None
            if outputs is None:
                for values in part:
                    self.add(values, origin, required=True)
                continue
            self._check_range(together or ())
            for index, values in enumerate(part):
                expected = {name: value[index : index + 1] for name, value in outputs.items()}
                self.feeds.append(Feed(self._arrays(values), expected, origin))

    def add_data(self, name: str) -> int | None:
        """The samples of a data set; gives its number of classes."""
        parts = read(name)
        data, part = (parts.held_out, "test") if parts.held_out else (parts.train, "training")
        inputs = data.spread(self._spec.check_samples).inputs
        port, example = self._traced.inputs[0], self._traced.examples[0]
        if tuple(example.shape[1:]) != inputs.shape[1:] and port.is_fixed:
            wanted, given = ("x".join(str(size) for size in shape[1:]) for shape in (example.shape, inputs.shape))
            raise ExplorerError(f"{self._spec.source} takes {wanted}, the samples of {name} are {given}", "choose other data")
        samples = [[_as_port(torch.from_numpy(inputs[index : index + 1].copy()), port)] for index in range(len(inputs))]
        self.add_all(samples, f"{part} data of {name}")
        return data.classes

    def add_mirrored(self) -> None:
        """The first inputs with their signs turned, on which a branch frozen by tracing fails."""
        count = MIRRORED_SAMPLES if len(self.feeds) > 2 * MIRRORED_SAMPLES else 2
        for feed in self.feeds[:count]:
            turned = flipped([torch.from_numpy(value) for value in feed.inputs.values()], self._traced.inputs)
            if turned is not None:
                self.add(turned, MIRRORED)

    def _joins(self, part: Sequence[Sequence[Tensor]]) -> bool:
        first = part[0]
        return all(item.ndim and len(item) == 1 for item in first) and all(
            [item.shape for item in values] == [item.shape for item in first] for values in part
        )

    def _batched(self, together: Sequence[Tensor], part: Sequence[Sequence[Tensor]]) -> dict[str, Array] | None:
        """Outputs of a whole batch; None where the source mixes, merges or refuses samples."""
        try:
            outputs, alone = _run(self._traced, together), _run(self._traced, part[0])
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError):
            return None
        fits = all(
            value.ndim and len(value) == len(part) and value[:1].shape == alone[name].shape for name, value in outputs.items()
        )
        same = fits and all(np.allclose(value[:1], alone[name], rtol=1e-4, atol=1e-5) for name, value in outputs.items())
        return outputs if same and all(np.isfinite(value).all() for value in outputs.values()) else None

    def _arrays(self, values: Sequence[Tensor]) -> dict[str, Array]:
        return {name: value.numpy() for name, value in zip(self._names, values, strict=True)}

    def _check_range(self, values: Sequence[Tensor]) -> None:
        if self._spec.target != "coreml":
            return
        for name, value in zip(self._names, values, strict=False):
            if (
                value.dtype == torch.int64
                and value.numel()
                and not INT32.min <= int(value.min()) <= int(value.max()) <= INT32.max
            ):
                raise ExplorerError(
                    f"{name} holds integers beyond 32 bits, which Core ML cannot take", "make them smaller in front of the model"
                )

    def _failed(self, values: Sequence[Tensor], error: Exception) -> ExplorerError:
        shapes = ", ".join("x".join(map(str, value.shape)) or "scalar" for value in values)
        return ExplorerError(f"{self._spec.source} fails on an input of {shapes} ({_reason(error)})", "check its example input")


def _run(traced: Traced, values: Sequence[Tensor]) -> dict[str, Array]:
    outputs = run_flat(traced.module, [item.clone() for item in values])
    return {name: item.numpy().copy() for name, item in zip(traced.outputs, outputs, strict=True)}


def _own(path: str, limit: int, traced: Traced) -> list[list[Tensor]]:
    """The samples of a user's .npz, an entry for each input, samples first."""
    arrays = _npz(path)
    names = [port.name for port in traced.inputs]
    if set(names) != set(arrays):
        raise ExplorerError(
            f"{path} holds {', '.join(arrays) or 'nothing'}; the inputs are {', '.join(names)}",
            "name its entries like the inputs",
        )
    columns = [
        list(_samples(arrays[port.name], port, example, path))
        for port, example in zip(traced.inputs, traced.examples, strict=True)
    ]
    if len({len(column) for column in columns}) > 1 or not columns[0]:
        raise ExplorerError(f"{path} holds different numbers of samples for its inputs", "give as many of each")
    return [list(values) for values in zip(*columns, strict=True)][:limit]


def _samples(array: Array, port: InputPort, example: Tensor, path: str) -> Iterator[Tensor]:
    """Samples of the port's rank: along an axis in front of it, or along its own first axis where that has size 1."""
    if array.dtype.kind not in "fiub":
        raise ExplorerError(f"{port.name} in {path} is {array.dtype}", "give numbers")
    values = torch.from_numpy(np.ascontiguousarray(array)).to(port.dtype)
    if values.ndim == example.ndim + 1:
        yield from values
    elif values.ndim == example.ndim and example.ndim and example.shape[0] == 1:
        yield from torch.split(values, 1)
    elif values.ndim == example.ndim:
        yield values
    else:
        raise ExplorerError(f"{port.name} in {path} is {'x'.join(map(str, array.shape))}", f"the input is {port.words()}")


def _npz(path: str) -> dict[str, Array]:
    try:
        with np.load(Path(path).expanduser(), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, AttributeError, EOFError) as error:
        raise ExplorerError(f"{path} cannot be read ({type(error).__name__})", "write it with numpy.savez") from None


def _as_port(sample: Tensor, port: InputPort) -> Tensor:
    """A sample of the model's own input as the port takes it: pixels where the port is a picture."""
    if port.image is not None:
        return pixels(sample, port.image)
    return sample.to(port.dtype)


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0][:160] if str(error) else type(error).__name__
