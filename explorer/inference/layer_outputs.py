"""What each module of a model puts out in one call: shapes and bytes, seen by hooks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@dataclass
class Output:
    """Shapes of a module's first call, and the bytes that all its calls put out; what it was given and gives back adds none."""

    shapes: list[list[int]] = field(default_factory=list)
    bytes: int = 0
    calls: int = 0


@contextmanager
def watched(module: nn.Module) -> Iterator[dict[str, Output]]:
    """Inside, each module that runs appears with its outputs, by path, in the order in which modules are declared."""
    found: dict[str, Output] = {}
    handles = [part.register_forward_hook(_hook(path, found), with_kwargs=True) for path, part in module.named_modules()]
    try:
        yield found
    finally:
        _remove(handles)
        order = {path: index for index, (path, _) in enumerate(module.named_modules())}
        for path in sorted(found, key=lambda item: order[item]):
            found[path] = found.pop(path)


def _hook(path: str, found: dict[str, Output]) -> Callable[..., None]:
    def seen(part: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        given = {id(tensor) for tensor in tensors((args, kwargs))}
        row = found.setdefault(path, Output())
        news = list(tensors(output))
        if not row.calls:
            row.shapes = [list(tensor.shape) for tensor in news]
        row.calls += 1
        row.bytes += sum(tensor.numel() * tensor.element_size() for tensor in news if id(tensor) not in given)

    return seen


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and mappings."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)


def _remove(handles: list[RemovableHandle]) -> None:
    for handle in handles:
        handle.remove()


def leaves(ran: Iterable[str]) -> list[str]:
    """Paths of the modules that ran and hold no other that ran."""
    paths = list(ran)
    holders = {holder for path in paths for holder in _holders(path)}
    return [path for path in paths if path not in holders]


def _holders(path: str) -> list[str]:
    """Every path that holds this one, the whole model ("") first."""
    parts = path.split(".") if path else []
    return [".".join(parts[:count]) for count in range(len(parts))]


def parameter_counts(module: nn.Module) -> Counter[str]:
    """Parameters of each path and all below it; a tied one counts once, where it is declared first."""
    counts: Counter[str] = Counter()
    for name, parameter in module.named_parameters():
        for holder in _holders(name):
            counts[holder] += parameter.numel()
    return counts
