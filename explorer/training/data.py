"""The data of a training: what is learned from and what is held out, in batches for one process of several."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.utils.data.distributed import DistributedSampler

from explorer.datasets.dataset import Dataset, Parts, describe, shape_words
from explorer.datasets.load import read
from explorer.datasets.made import Made, is_factory, kind_of, made
from explorer.datasets.oddities import Oddity, oddities
from explorer.datasets.sampling import class_count
from explorer.errors import ExplorerError
from explorer.schemas.data_source import parse_data_source
from explorer.schemas.specs import TrainSpec
from explorer.training.batches import ArrayBatches, BatchSource, Place
from explorer.training.nested import first_tensor
from explorer.training.user_batches import LoaderBatches, MapBatches, SampleBatches

# Validation takes batches of this many samples, fewer where samples are large, and no fewer than training.
HELD_OUT_SAMPLES = 256
HELD_OUT_NUMBERS = 1 << 20


@dataclass
class TrainingData:
    """`dataset` is what is trained on where it is in memory; `description` and `oddities` are to be told people."""

    train: BatchSource
    held_out: BatchSource | None
    name: str
    classes: int | None
    dataset: Dataset | None
    description: str = ""
    oddities: list[Oddity] = field(default_factory=list)


def open_data(spec: TrainSpec, place: Callable[[Any], Any], *, rank: int = 0, size: int = 1) -> TrainingData:
    """The data that `spec.data` names, with batches for rank `rank` of `size`; `place` puts tensors on the device.

    Raises `ExplorerError` for data that cannot be read, or cannot be shared out to several processes.
    """
    source = parse_data_source(spec.data)
    if not is_factory(source):
        return _in_memory(read(spec.data), spec, place, rank, size)
    given = made(source, rank, size)
    if isinstance(given.train, Dataset) and (given.held_out is None or isinstance(given.held_out, Dataset)):
        ranks = (0, 1) if given.shared_out else (rank, size)
        return _in_memory(Parts(given.train, given.held_out), spec, place, *ranks)
    return _users(given, spec, place, rank, size)


def _in_memory(parts: Parts, spec: TrainSpec, place: Place, rank: int, size: int) -> TrainingData:
    train = ArrayBatches(parts.train, spec.batch_size, spec.seed, place, rank=rank, size=size)
    held_out = None
    if parts.held_out is not None:
        batch_size = held_out_batch_size(spec.batch_size, parts.held_out.inputs[0].size)
        held_out = ArrayBatches(parts.held_out, batch_size, spec.seed, place, rank=rank, size=size, in_order=True)
    data = parts.train
    return TrainingData(train, held_out, data.name, data.classes, data, describe(parts), oddities(parts))


def _users(given: Made, spec: TrainSpec, place: Place, rank: int, size: int) -> TrainingData:
    if given.shared_out:
        rank, size = 0, 1
    train = _source(given, given.train, spec, place, rank, size, held_out=False)
    held_out = None
    if given.held_out is not None:
        held_out = _source(given, given.held_out, spec, place, rank, size, held_out=True)
    dataset = given.train if isinstance(given.train, Dataset) else None
    return TrainingData(train, held_out, given.name, train.classes, dataset, _description(given, train, held_out))


def _source(given: Made, data: Any, spec: TrainSpec, place: Place, rank: int, size: int, *, held_out: bool) -> BatchSource:
    kind = kind_of(data)
    if kind == "arrays":
        return ArrayBatches(data, spec.batch_size, spec.seed, place, rank=rank, size=size, in_order=held_out)
    if kind == "map":
        if not len(data):
            raise ExplorerError(f"{given.name} gives a data set without samples", "give some")
        return MapBatches(data, given.name, spec.batch_size, spec.seed, place, rank=rank, size=size, in_order=held_out)
    if size > 1 and not isinstance(getattr(data, "sampler", None), DistributedSampler):
        raise ExplorerError(
            f"{given.name} gives a {type(data).__name__}, which every one of {size} processes would go through whole",
            "let the factory take rank and size, give the loader a DistributedSampler, or give the data set itself",
        )
    batches = SampleBatches(data, spec.batch_size) if kind == "samples" else data
    return LoaderBatches(batches, given.name, spec.batch_size, spec.seed, place)


def held_out_batch_size(batch_size: int, numbers_per_sample: int) -> int:
    """Samples in a batch of validation."""
    return max(batch_size, min(HELD_OUT_SAMPLES, HELD_OUT_NUMBERS // max(1, numbers_per_sample)))


def _description(given: Made, train: BatchSource, held_out: BatchSource | None) -> str:
    """As `describe`, of data whose size and classes may not be known."""
    found = first_tensor(train.first(1))
    shape = shape_words(found.shape[1:]) if found is not None else "unknown shape"
    known = given.train.classes if isinstance(given.train, Dataset) else class_count(given.train)
    classes = "values to predict" if train.classes is None else f"{known} classes" if known else "classes"
    held = "no held-out" if held_out is None else f"{_count(held_out)} held-out"
    return f"{_count(train)} training and {held} samples of {shape}, {classes}"


def _count(source: BatchSource) -> str:
    return "an unknown number of" if source.samples is None else f"{source.samples:,}"
