"""Model sources that are code: `file.py:factory` and `package.module:factory`."""

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.home import samples_folder
from explorer.models.user_code import blamed

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


def build(source: str) -> Built:
    """The module that a factory makes and its example inputs (empty when it gives none)."""
    place, name = split_source(source)
    if place.endswith(".py"):
        path = find_file(place)
        with _importable(path.parent):
            return _call(_factory(_load_file(path), name, place), source)
    return _call(_factory(_import(place, source), name, place), source)


def normalised(source: str) -> str:
    """The same source, good from any folder: absolute, or below `samples/` when it is one of ours."""
    place, name = split_source(source)
    if not place.endswith(".py"):
        return source
    path = find_file(place).resolve()
    samples = samples_folder().resolve()
    return f"samples/{path.relative_to(samples)}:{name}" if path.is_relative_to(samples) else f"{path}:{name}"


def split_source(source: str) -> tuple[str, str]:
    """File or module, and the factory's name."""
    place, colon, name = source.rpartition(":")
    if colon and name.isidentifier():
        return place, name
    if source.endswith(".py"):
        raise ExplorerError(f"{source} names no factory", f"add one, such as {source}:{_first_factory(source)}")
    raise ExplorerError(f"{source} is not a model source", "give file.py:factory, package.module:factory or job:ID")


def find_file(place: str) -> Path:
    """The file, relative to the current folder first, then among the samples."""
    path = Path(place).expanduser()
    if path.is_file():
        return path.absolute()
    if place.startswith("samples/"):
        sample = samples_folder() / place.removeprefix("samples/")
        if sample.is_file():
            return sample
    raise ExplorerError(f"{place} does not exist", "check the path of the .py file")


def _first_factory(place: str) -> str:
    """The last top-level function or class of a file, for a hint; parsed, not run."""
    try:
        body = ast.parse(find_file(place).read_bytes()).body
    except (SyntaxError, ValueError):
        return "factory"
    names = [item.name for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef)]
    return names[-1] if names else "factory"


def _load_file(path: Path) -> ModuleType:
    """Run the file in a module of its own, so that an edited file is read afresh and two files never share names."""
    name = f"explorer_source_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ExplorerError(f"{path} cannot be imported", "give a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it loads
    with blamed(f"{path} failed to load"):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let the file import its neighbours, as when Python runs it."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def _import(place: str, source: str) -> ModuleType:
    try:
        with blamed(f"{place} failed to load"):
            return importlib.import_module(place)
    except ExplorerError as error:
        missing = error.__cause__
        if isinstance(missing, ModuleNotFoundError) and missing.name and place.startswith(missing.name):
            raise ExplorerError(
                f"{source}: there is no module {missing.name}", "check the name, or give file.py:factory"
            ) from None
        raise


def _factory(module: ModuleType, name: str, place: str) -> Callable[[], Any]:
    factory = getattr(module, name, None)
    if callable(factory):
        return factory  # type: ignore[no-any-return]
    names = [
        key for key, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]
    raise ExplorerError(f"{place} has no factory {name}", f"it has {', '.join(names) or 'no class or function'}")


def _call(factory: Callable[[], Any], source: str) -> Built:
    with blamed(f"{source} failed"):
        built = factory()
    module, inputs = built if isinstance(built, tuple) and len(built) == 2 else (built, ())
    if not isinstance(module, nn.Module):
        raise ExplorerError(
            f"{source} gave {type(built).__name__}, not a module", "return a torch.nn.Module, or a module and a tuple of inputs"
        )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if not all(isinstance(item, torch.Tensor) for item in inputs):
        raise ExplorerError(f"{source} gave example inputs that are not tensors", "return (module, (tensor, ...))")
    return module, inputs
