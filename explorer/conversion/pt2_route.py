"""An exported program on disk, loaded again and compared."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from explorer.conversion.flat import Flat
from explorer.conversion.inputs import Array, Proof
from explorer.conversion.ladder import Ladder, Made
from explorer.conversion.ports import Traced
from explorer.conversion.proof import TORCH, judged
from explorer.conversion.structure import filled, leaves
from explorer.conversion.to_coreml import dynamic_shapes
from explorer.files import remove
from explorer.inference.coreml.quiet import quiet
from explorer.schemas.results import Check


def proven_pt2(ladder: Ladder) -> Made:
    """Write the program with the source's own arguments and results, and give the check of the file as it loads.

    Where torch.export does not know their classes the program takes and gives tensors. Raises `ExplorerError` naming the cause or
    the failed check when no way works.
    """
    for traced, own in ((traced, own) for traced in ladder.variants() for own in (True, False)):
        way = f"torch.export, {'open' if traced.open_batch else 'fixed'} batch{'' if own else ', tensors in and out'}"
        call = Call(traced, own)
        try:
            with ladder.route.step(way):
                call.save(ladder.path)
            with ladder.route.step("check the file as it loads"):
                check = call.check(ladder.path, ladder.proof_of(traced))
        except Exception as error:
            remove(ladder.path)
            ladder.failures.broke(way, error)
            continue
        if ladder.failures.passed(check):
            ladder.say_batch(traced)
            return Made([ladder.path], [check], ladder.port_words(traced))
        remove(ladder.path)
    raise ladder.failures.error()


@dataclass(frozen=True)
class Call:
    """How a program is called: with the source's own arguments (`own`), or with tensors by position."""

    traced: Traced
    own: bool

    @property
    def flat(self) -> Flat:
        flat = self.traced.module
        assert isinstance(flat, Flat)
        return flat

    def arguments(self, values: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments that hold these values."""
        if not self.own:
            return tuple(values), {}
        adapted = [adapter.apply(value) for adapter, value in zip(self.flat.adapters, values, strict=True)]
        args, kwargs = filled(self.flat.template, adapted)
        return args, kwargs

    def save(self, path: Path) -> None:
        """Export and save."""
        module = self.flat.source if self.own else self.flat
        args, kwargs = self.arguments(self.traced.examples)
        with quiet(), torch.no_grad():
            program = torch.export.export(module, args, kwargs or None, dynamic_shapes=self.shapes(module, args, kwargs))
            torch.export.save(program, path)

    def shapes(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The open dimensions in the structure of the arguments, with keywords by the names of forward's parameters."""
        found = dynamic_shapes(self.traced)
        if found is None or not self.own:
            return found
        places = iter(found[0])
        positional, named = _shapes(args, places), _shapes(kwargs, places)
        names = list(inspect.signature(module.forward).parameters)
        return {**dict(zip(names, positional, strict=False)), **named} if kwargs else positional

    def check(self, path: Path, proof: Proof) -> Check:
        """The saved program, loaded again, against the source. The file is our own, made a moment ago."""
        with quiet():
            loaded = torch.export.load(path).module()
        return judged(((feed, self.run(loaded, feed.inputs)) for feed in proof.feeds), TORCH, "float32", proof.classes)

    def run(self, loaded: nn.Module, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The loaded program's outputs by name."""
        args, kwargs = self.arguments([torch.from_numpy(value.copy()) for value in inputs.values()])
        with quiet(), torch.no_grad():
            outputs = loaded(*args, **kwargs)
        return {name: value.numpy() for name, (_, value) in zip(self.traced.outputs, leaves(outputs), strict=True)}


def _shapes(value: Any, places: Iterator[Any]) -> Any:
    """The structure of `value` with the open dimensions of each tensor, None for anything else."""
    if isinstance(value, Tensor):
        return next(places)
    if isinstance(value, dict):
        return {key: _shapes(item, places) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_shapes(item, places) for item in value)
    return None
