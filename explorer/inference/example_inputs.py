"""Inputs for a module that brings none: from its configuration, or guessed from its first layer and tried out."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.errors import ExplorerError
from explorer.inference.ports import Shape
from explorer.models.sources import LoadedModel
from explorer.models.user_code import is_out_of_memory

IMAGE_SIZES = (224, 64, 32, 28, 16, 8)
SIGNAL_SIZES = (256, 1024, 16_000, 64, 16)
VOLUME_SIZES = (32, 16, 8)
TOKENS = 16
SEED = 0
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Example:
    """Positional inputs of a module with the names that its forward gives them; `origin` says where they come from.

    Integers of the inputs lie below `high`, where a layer says so.
    """

    names: list[str]
    tensors: tuple[Tensor, ...]
    origin: str
    high: int | None = None


@dataclass(frozen=True)
class _Guess:
    shape: Shape
    high: int | None = None


def example_inputs(loaded: LoadedModel, shapes: Mapping[str, Shape]) -> Example:
    """The factory's own example, else a configuration's, else a guess that the module accepts.

    `shapes` by input name go before all; the name "" means the first input. Raises `ExplorerError` when nothing fits.
    """
    module, own = loaded.module, loaded.example_inputs
    names = input_names(module, len(own) or None)
    if own:
        return Example(names, _reshaped(names, own, shapes), "the factory's example", _first_high(module))
    configured = _from_config(getattr(module, "config", None))
    if configured is not None:
        name, guess = configured
        return Example([name], (_tensor(shapes.get(name, shapes.get("", guess.shape)), guess.high),), "config", guess.high)
    given = [shapes.get(name, shapes.get("") if index == 0 else None) for index, name in enumerate(names)]
    high = _first_high(module)
    if given and all(given):
        return Example(names, tuple(_tensor(shape or (), high) for shape in given), "the shapes given", high)
    if len(names) != 1:
        wanted = f"takes {', '.join(names)}" if names else "names no inputs"
        raise ExplorerError(
            f"{loaded.source} {wanted} and gives no example",
            "return (module, (tensor, ...)) from the factory, or give their shapes",
        )
    return _guessed(loaded, names)


def input_names(module: nn.Module, count: int | None = None) -> list[str]:
    """Names of the first `count` parameters of `forward`, or of all that it requires."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    named = [item for item in parameters if item.kind not in VARIADIC]
    if count is None:
        return [item.name for item in named if item.default is inspect.Parameter.empty]
    names = [item.name for item in named[:count]]
    return names + [f"input_{index}" for index in range(len(names), count)]


def _guessed(loaded: LoadedModel, names: list[str]) -> Example:
    layer = next((item for item in loaded.module.modules() if _rule(item)), None)
    if layer is None:
        raise ExplorerError(
            f"{loaded.source} gives no example input", "return (module, (tensor,)) from the factory, or give its shape"
        )
    was_training = loaded.module.training
    loaded.module.eval()
    try:
        for guess in _guesses(layer):
            tensor = _tensor(guess.shape, guess.high)
            if _accepts(loaded.module, tensor):
                return Example(names, (tensor,), f"guessed from {type(layer).__name__}", guess.high)
    finally:
        loaded.module.train(was_training)
    raise ExplorerError(
        f"{loaded.source} gives no example input, and none guessed from its {type(layer).__name__} fits",
        "return (module, (tensor,)) from the factory, or give its shape",
    )


def _accepts(module: nn.Module, tensor: Tensor) -> bool:
    try:
        with torch.no_grad():
            module(tensor)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return False
    return True


def _reshaped(names: list[str], own: tuple[Tensor, ...], shapes: Mapping[str, Shape]) -> tuple[Tensor, ...]:
    result = []
    for index, (name, tensor) in enumerate(zip(names, own, strict=True)):
        shape = shapes.get(name, shapes.get("") if index == 0 else None)
        result.append(tensor if shape is None or tensor.shape == shape else _like(tensor, shape))
    return tuple(result)


def _like(tensor: Tensor, shape: Shape) -> Tensor:
    if tensor.is_floating_point():
        return _tensor(shape, None).to(tensor.dtype)
    low, high = int(tensor.min()), int(tensor.max())
    return torch.randint(low, high + 1, shape, generator=_generator()).to(tensor.dtype)


def _tensor(shape: Shape, high: int | None) -> Tensor:
    if high is None:
        return torch.randn(shape, generator=_generator())
    return torch.randint(0, high, shape, generator=_generator())


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


def _from_config(config: Any) -> tuple[str, _Guess] | None:
    """The input of a transformers model: pixels, or token ids below its vocabulary."""
    if config is None:
        return None
    values = config if isinstance(config, Mapping) else vars(config)
    size, channels, vocabulary = values.get("image_size"), values.get("num_channels", 3), values.get("vocab_size")
    if isinstance(size, int):
        return "pixel_values", _Guess((1, channels, size, size))
    return ("input_ids", _Guess((1, TOKENS), vocabulary)) if isinstance(vocabulary, int) else None


def _first_high(module: nn.Module) -> int | None:
    """The size of the vocabulary when the first layer is an embedding."""
    layer = next((item for item in module.modules() if _rule(item)), None)
    return layer.num_embeddings if isinstance(layer, nn.Embedding | nn.EmbeddingBag) else None


def _guesses(layer: nn.Module) -> Iterator[_Guess]:
    rule = _rule(layer)
    return iter(()) if rule is None else rule(layer)


def _rule(layer: nn.Module) -> Callable[[Any], Iterator[_Guess]] | None:
    return next((rule for kinds, rule in RULES if isinstance(layer, kinds)), None)


def _embedding(layer: nn.Embedding) -> Iterator[_Guess]:
    yield _Guess((1, TOKENS), layer.num_embeddings)


def _linear(layer: nn.Linear) -> Iterator[_Guess]:
    for shape in ((1,), (1, TOKENS), (1, layer.in_features), (1, 1, layer.in_features)):
        yield _Guess((*shape, layer.in_features))


def _conv1d(layer: nn.Conv1d) -> Iterator[_Guess]:
    for size in SIGNAL_SIZES:
        yield _Guess((1, layer.in_channels, size))


def _conv2d(layer: nn.Conv2d) -> Iterator[_Guess]:
    for size in IMAGE_SIZES:
        yield _Guess((1, layer.in_channels, size, size))


def _conv3d(layer: nn.Conv3d) -> Iterator[_Guess]:
    for size in VOLUME_SIZES:
        yield _Guess((1, layer.in_channels, size, size, size))


def _recurrent(layer: nn.RNNBase) -> Iterator[_Guess]:
    yield _Guess((1, TOKENS, layer.input_size))


def _attention(layer: nn.MultiheadAttention) -> Iterator[_Guess]:
    yield _Guess((1, TOKENS, layer.embed_dim))


def _layer_norm(layer: nn.LayerNorm) -> Iterator[_Guess]:
    yield _Guess((1, *layer.normalized_shape))
    yield _Guess((1, TOKENS, *layer.normalized_shape))


def _batch_norm(layer: nn.BatchNorm1d) -> Iterator[_Guess]:
    tails: dict[type[nn.Module], tuple[Shape, ...]] = {nn.BatchNorm2d: ((64, 64), (8, 8)), nn.BatchNorm3d: ((16, 16, 16),)}
    for tail in tails.get(type(layer), ((), (SIGNAL_SIZES[0],))):
        yield _Guess((1, layer.num_features, *tail))


RULES: tuple[tuple[Any, Callable[[Any], Iterator[_Guess]]], ...] = (
    ((nn.Embedding, nn.EmbeddingBag), _embedding),
    (nn.Linear, _linear),
    (nn.Conv1d, _conv1d),
    (nn.Conv2d, _conv2d),
    (nn.Conv3d, _conv3d),
    (nn.RNNBase, _recurrent),
    (nn.MultiheadAttention, _attention),
    (nn.LayerNorm, _layer_norm),
    ((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), _batch_norm),
)
