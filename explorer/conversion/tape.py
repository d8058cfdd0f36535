"""What a torch module computes, value by value: run eagerly once, with the module and source line of every operator."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from explorer.conversion.user_lines import current_line
from explorer.inference.compare import Array
from explorer.inference.torch_settings import plain_attention


@dataclass(frozen=True)
class Value:
    """One value: `inputs` are the numbers of values that it was made from, `place` the module path, `line` "file.py:12"."""

    number: int
    operator: str
    array: Array
    inputs: tuple[int, ...]
    place: str = ""
    line: str = ""
    given: bool = False


@dataclass
class Tape:
    """Values in the order in which they came up; `outputs` are the numbers of those that the module gives."""

    values: list[Value] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


def recorded(module: nn.Module, inputs: Sequence[Tensor], root: nn.Module | None = None) -> Tape:
    """Run `module` on `inputs` and keep every tensor on the way. Module paths are those within `root`, or `module`.

    A parameter or constant leads to nothing: only what comes from the inputs is connected.
    """
    recorder = _Recorder()
    for item in inputs:
        recorder.given(item)
    with torch.no_grad(), plain_attention(), _places(module, root, recorder.stack), recorder:
        outputs = module(*inputs)
    recorder.finish(outputs)
    return recorder.tape


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tape = Tape()
        self.stack: list[str] = []
        self._makers: dict[int, int] = {}
        self._writers: dict[int, int] = {}
        self._kept: list[Tensor] = []

    def given(self, tensor: Tensor) -> None:
        self._add("input", tensor, (), given=True)

    def finish(self, outputs: Any) -> None:
        for item in _tensors(outputs):
            self.tape.outputs.append(self._add("output", item, self._sources(item)))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = tuple(sorted({number for item in _tensors((args, kwargs)) for number in self._sources(item)}))
        writes = func._schema.is_mutable
        for item in _tensors(result):
            # A write into a view changes the whole tensor, which is what a program gives next.
            whole = item._base if writes and item._base is not None else item
            number = self._add(func.overloadpacket.__name__, whole, sources, current_line())
            if writes:
                self._writers[_storage(whole)] = number
        return result

    def _sources(self, tensor: Tensor) -> tuple[int, ...]:
        """What a tensor was made from: the operator that gave it, and the last one that wrote into its memory."""
        found = (self._makers.get(id(tensor)), self._writers.get(_storage(tensor)))
        return tuple(sorted({number for number in found if number is not None}))

    def _add(self, name: str, tensor: Tensor, sources: tuple[int, ...], line: str = "", given: bool = False) -> int:
        number = len(self.tape.values)
        place = self.stack[-1] if self.stack else ""
        self.tape.values.append(Value(number, name, _array(tensor), sources, place, line, given))
        self._makers[id(tensor)] = number
        self._kept.append(tensor)  # else its number and memory would be given to another tensor
        return number


class _places(ExitStack):
    """Inside, `stack` ends with the path of the module that runs, as it is within `root`, whatever wraps or copies that."""

    def __init__(self, module: nn.Module, root: nn.Module | None, stack: list[str]) -> None:
        super().__init__()
        known = {path for path, _ in (root or module).named_modules()}
        for path, item in module.named_modules():
            self.callback(item.register_forward_pre_hook(_entering(stack, own_path(path, known))).remove)
            self.callback(item.register_forward_hook(_leaving(stack), always_call=True).remove)


def own_path(path: str, known: set[str]) -> str:
    """A module path without the names of wrappers in front of it."""
    while path and path not in known:
        path = path.partition(".")[2]
    return path


def _entering(stack: list[str], path: str) -> Callable[..., None]:
    return lambda module, inputs: stack.append(path)


def _leaving(stack: list[str]) -> Callable[..., None]:
    def leave(module: nn.Module, inputs: Any, outputs: Any) -> None:
        stack.pop()

    return leave


def _tensors(tree: Any) -> list[Tensor]:
    return [item for item in torch.utils._pytree.tree_leaves(tree) if isinstance(item, Tensor)]


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _array(tensor: Tensor) -> Array:
    value = tensor.detach()
    value = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    value = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
    array: Array = value.cpu().clone().numpy()
    return array
