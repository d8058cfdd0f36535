"""How a training script takes the data of the user's own `file.py:factory`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Subset, TensorDataset, default_collate

from explorer.datasets.dataset import Dataset, Parts
from explorer.datasets.made import FACTORY_SEED, is_pair, kind_of, labels_of, made, two_of
from explorer.datasets.options import validation_share
from explorer.datasets.random_stream import RandomStream
from explorer.errors import ExplorerError
from explorer.models.factories import called
from explorer.runs import script_factory_texts as texts
from explorer.runs.script_arrays import in_memory, inputs_of, split_flags, targets_of
from explorer.runs.script_code import Code, reach
from explorer.runs.script_lines import chosen
from explorer.runs.script_piece import Data, Piece
from explorer.schemas.data_source import DataSource

TOLD = ("sampler", "batch_sampler", "dataset")


def data(source: DataSource, batch_size: int, folder: Path) -> Data:
    """All that a script needs to have what the factory gives; the factory is called to see what that is."""
    code = reach(source.name, "DATA_FILE", folder)
    with RandomStream(FACTORY_SEED):
        given, told = called(source.name, {"rank": 0, "size": 1})
    if told:
        extra = ", ".join(f"{name}={value}" for name, value in (("rank", 0), ("size", 1)) if name in told)
        code = Code(code.piece, code.loaded, code.function, ", ".join(filter(None, [code.arguments, extra])))
    found = made(source)
    kind = kind_of(found.train)
    raw = two_of(given, source.name)
    flags = _flags(given, raw, found.held_out)
    if isinstance(found.train, Dataset):
        return _arrays(source, code, found.train, found.held_out, raw, flags, batch_size)
    return _users(source, code, kind, found, flags, batch_size)


def _flags(given: Any, raw: tuple[Any, Any], held_out: Any) -> set[str]:
    """How the two parts come out of what was given; `own`: the held-out one is not split off."""
    flags = {"held_out"} if held_out is not None else set()
    if held_out is not None and raw[1] is not None:
        flags.add("own")
    if isinstance(given, Mapping):
        flags.add("dict")
    elif raw[1] is not None:
        flags.add("tuple" if "own" in flags else "first")
    return flags


def _arrays(
    source: DataSource, code: Code, train: Dataset, held_out: Any, raw: tuple[Any, Any], flags: set[str], batch_size: int
) -> Data:
    if held_out is not None and not isinstance(held_out, Dataset):
        raise ExplorerError(f"{source.name} gives arrays and a {type(held_out).__name__}", "let both parts be of one kind")
    classes = train.classes is not None
    inputs, targets = (np.asarray(item) for item in _pair(raw[0]))
    words = {"type": "tuple[Pair, Pair]" if held_out is not None else "Pair", "train": _expression("train", raw[0])}
    words |= {"held": _expression("held_out", raw[1]) if "own" in flags else ""}
    text = chosen(texts.LOAD, flags | {"arrays"}, loaded=code.loaded, call=code.call, function=code.function, **words)
    functions = [*code.piece.functions, texts.STREAM, text, inputs_of(inputs), targets_of(targets, classes)]
    reading = Piece(code.piece.constants, functions, code.piece.files)
    piece = in_memory(reading, Parts(train, held_out), batch_size, validation_share(source))
    return Data(piece, "arrays", classes, held_out is not None, int(np.prod(train.inputs.shape[1:])))


def _pair(value: Any) -> tuple[Any, Any]:
    """The arrays or tensors behind a part that explorer keeps in memory."""
    if is_pair(value):
        return value[0], value[1]
    if isinstance(value, TensorDataset):
        return value.tensors[0], value.tensors[1]
    return _pair(value.dataset)


def _expression(name: str, value: Any) -> str:
    if is_pair(value):
        return name
    if isinstance(value, TensorDataset):
        return f"{name}.tensors"
    if isinstance(value, Subset) and isinstance(value.dataset, TensorDataset):
        return f"[tensor[torch.as_tensor({name}.indices)] for tensor in {name}.dataset.tensors]"
    raise ExplorerError(f"no script is written for a {type(value).__name__} of subsets", "let the factory give the tensors")


def _users(source: DataSource, code: Code, kind: str, found: Any, flags: set[str], batch_size: int) -> Data:
    """Data sets and loaders, which the script goes through as explorer did."""
    _check_kinds(source, kind, found.held_out, flags)
    more = {"several": batch_size > 1, "samples": kind == "samples", "told": _told(found.train)}
    flags |= {name for name, on in more.items() if on}
    constants, functions = list(code.piece.constants), [*code.piece.functions, texts.STREAM]
    words = {"type": "tuple[Any, Any]" if "held_out" in flags else "Any"}
    functions.append(chosen(texts.LOAD, flags, loaded=code.loaded, call=code.call, function=code.function, **words))
    if "held_out" in flags and "own" not in flags:
        constants.append(f"HELD_OUT_SHARE = {validation_share(source)!r}")
        functions.append(_split(found.train.dataset, validation_share(source)))
    if kind == "samples":
        functions.append(chosen(texts.GROUPED, flags, alone=" A last single one is left out." if batch_size > 1 else ""))
    functions.append(chosen(texts.MAP if kind == "map" else texts.LOADER, flags))
    return _described(Piece(constants, functions, code.piece.files), kind, found.train, batch_size, "held_out" in flags)


def _split(whole: Any, share: float) -> str:
    labels = labels_of(whole)
    return chosen(texts.SPLIT_MAP, split_flags(labels, share), targets="targets" if hasattr(whole, "targets") else "labels")


def _described(piece: Piece, kind: str, train: Any, batch_size: int, held_out: bool) -> Data:
    """What a first batch tells: whether targets are classes, and how large the loader's own batches are."""
    with RandomStream(FACTORY_SEED):
        first = _first(train, kind)
    targets = first[1] if isinstance(first, list | tuple) and len(first) == 2 else None
    classes = isinstance(targets, torch.Tensor) and targets.dtype == torch.int64
    if kind == "map":
        return Data(piece, "map", classes, held_out)
    if kind == "samples":
        return Data(piece, "batches", classes, held_out, batch_size=batch_size, endless=True, samples=True)
    size = getattr(train, "batch_size", None) or len(_first_tensor(first))
    return Data(piece, "batches", classes, held_out, batch_size=size, endless=not _has_length(train))


def _has_length(data: Any) -> bool:
    try:
        return len(data) >= 0
    except (TypeError, NotImplementedError):
        return False


def _first(data: Any, kind: str) -> Any:
    """A batch, or a sample made one."""
    if kind == "map":
        return default_collate([data[0]])
    return default_collate([next(iter(data))]) if kind == "samples" else next(iter(data))


def _first_tensor(batch: Any) -> torch.Tensor:
    while not isinstance(batch, torch.Tensor):
        batch = next(iter(batch.values() if isinstance(batch, Mapping) else batch))
    return batch


def _told(data: Any) -> bool:
    """Whether something of the loader wants to know the epoch."""
    return any(hasattr(getattr(data, name, None), "set_epoch") for name in TOLD)


def _check_kinds(source: DataSource, kind: str, held_out: Any, flags: set[str]) -> None:
    if "own" in flags and kind_of(held_out) != kind:
        raise ExplorerError(
            f"{source.name} gives its two parts in two ways, for which no script is written",
            "let both be data sets, or both loaders",
        )
