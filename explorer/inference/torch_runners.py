"""torch models as runners: modules from a factory, and files that run their own code, which need a yes first."""

import pickle
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.errors import ExplorerError
from explorer.inference.example_inputs import example_inputs
from explorer.inference.ports import Array, OpenShape, Port, Runner, Shape
from explorer.models.sources import LoadedModel
from explorer.models.trust import require_trust
from explorer.models.user_code import blamed, where

CONTEXT_NAMES = ("context_size_samples", "context_size")
SCALARS = {"int": "int64", "float": "float32", "bool": "bool"}


def torch_module(loaded: LoadedModel, shapes: Mapping[str, Shape]) -> Runner:
    """A built module in evaluation mode on the CPU."""
    example = example_inputs(loaded, shapes)
    module = loaded.module.eval()
    ports = [_example_port(*pair, example.high) for pair in zip(example.names, example.tensors, strict=True)]

    def call(feed: Mapping[str, Array]) -> dict[str, Array]:
        values = [_tensor(feed[port.name]).to(tensor.dtype) for port, tensor in zip(ports, example.tensors, strict=True)]
        return _run(loaded.source, module, values)

    return Runner(loaded.source, "PyTorch", ports, call)


def pickled_module(source: str, path: Path, trust: Sequence[str], shapes: Mapping[str, Shape]) -> Runner:
    """A whole module that torch.save wrote: loading it imports and calls what it names, so it is asked for."""
    try:
        torch.load(path, map_location="meta", weights_only=True)
    except pickle.UnpicklingError:
        require_trust(path, trust, "a pickle of more than tensors")
    except (RuntimeError, EOFError, ValueError) as error:
        raise ExplorerError(f"{path} cannot be read ({_first_line(error)})", "fetch or save it again") from None
    else:
        raise ExplorerError(f"{source} holds weights only", "give file.py:factory, or compare weights with `explorer diff`")
    with blamed(f"{source} cannot be loaded", "run where the classes that it names can be imported"):
        module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, nn.Module):
        raise ExplorerError(f"{source} holds a {type(module).__name__}, not a module", "give file.py:factory")
    return torch_module(LoadedModel(module, (), source, None, "as_built"), shapes)


def torchscript(source: str, path: Path, trust: Sequence[str], shapes: Mapping[str, Shape]) -> Runner:
    """A TorchScript file; state that it holds between calls is forgotten by loading it again."""
    require_trust(path, trust, "TorchScript")
    held = [_load_script(source, path)]
    ports = [port for port in map(_script_port, held[0].forward.schema.arguments[1:]) if port is not None]

    def call(feed: Mapping[str, Array]) -> dict[str, Array]:
        values = [feed[port.name].item() if port.is_scalar else _tensor(feed[port.name]) for port in ports]
        return _run(source, held[0], values)

    def fresh() -> None:
        held[0] = _load_script(source, path)

    return Runner(source, "TorchScript", ports, call, fresh=fresh, context=_context(held[0]))


def _load_script(source: str, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        try:
            return torch.jit.load(str(path), map_location="cpu").eval()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ExplorerError(f"{source} cannot be loaded ({_first_line(error)})", "save it again with this torch") from None


def _script_port(argument: Any) -> Port | None:
    """A required argument as a port; one with a default keeps it."""
    if argument.has_default_value():
        return None
    kind = str(argument.type)
    if kind == "Tensor":
        return Port(argument.name, "float32", None)
    if kind in SCALARS:
        return Port(argument.name, SCALARS[kind], ())
    raise ExplorerError(
        f"argument {argument.name} of the TorchScript model is a {kind}", "wrap it in a module that takes tensors"
    )


def _context(module: Any) -> int:
    """How many values of the call before the module says it puts in front of the next."""
    sizes = [getattr(part, name, None) for part in module.modules() for name in CONTEXT_NAMES]
    return next((size for size in sizes if isinstance(size, int) and size > 0), 0)


def exported_program(source: str, path: Path, trust: Sequence[str], shapes: Mapping[str, Shape]) -> Runner:
    """A `.pt2` file; torch.export.load can run code from it."""
    require_trust(path, trust, "torch.export.load")
    with blamed(f"{source} cannot be loaded", "save it again with this torch"):
        program = torch.export.load(str(path))
        module = program.module()
    wanted = program.graph_signature.user_inputs
    nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in wanted]
    ports = [_traced_port(source, node) for node in nodes]

    def call(feed: Mapping[str, Array]) -> dict[str, Array]:
        values = [_tensor(feed[port.name]).to(node.meta["val"].dtype) for port, node in zip(ports, nodes, strict=True)]
        return _run(source, module, values)

    return Runner(source, "PyTorch exported program", ports, call)


def _traced_port(source: str, node: Any) -> Port:
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        raise ExplorerError(f"input {node.name} of {source} is no tensor", "export it with tensors only")
    shape: OpenShape = tuple(size if type(size) is int else None for size in value.shape)
    return Port(node.name, _numpy_name(value.dtype), shape)


def _example_port(name: str, tensor: Tensor, high: int | None) -> Port:
    array = _array(tensor)
    whole = array.dtype.kind in "iu" and array.size > 0
    return Port(
        name,
        _numpy_name(tensor.dtype),
        (None,) * tensor.ndim,
        default=tuple(tensor.shape),
        example=array,
        high=(high or int(array.max()) + 1) if whole else None,
    )


def _run(source: str, module: Any, values: Sequence[Any]) -> dict[str, Array]:
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = module(*values)
    except ExplorerError:
        raise
    except Exception as error:
        given = ", ".join("x".join(map(str, item.shape)) if isinstance(item, Tensor) else str(item) for item in values)
        place = where(error)
        what = f"{source} fails on {given}{f' at {place}' if place else ''} ({_first_line(error)})"
        raise ExplorerError(what, "check the shapes of its inputs") from error
    named = dict(_named("output", output))
    if not named:
        raise ExplorerError(f"{source} gives a {type(output).__name__}", "wrap it in a module that gives tensors")
    return named


def _named(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """The tensors of an output, nested ones too, each under a name."""
    if isinstance(value, Tensor):
        yield name, _array(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named(str(key) if name == "output" else f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _named(f"{name}_{index}", item)


def _array(tensor: Tensor) -> Array:
    plain = tensor.detach().cpu()
    return np.asarray((plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())


def _tensor(array: Array) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def _numpy_name(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return "float32" if name == "bfloat16" else name


def _first_line(error: BaseException) -> str:
    """The line that says why; TorchScript puts it last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next(
        (line for line in reversed(lines) if re.match(r"(\w+\.)*\w*(Error|Exception): ", line)), lines[0] if lines else ""
    )
    return reason[:300] or type(error).__name__
