"""Sources that are code: `file.py:factory` and `package.module:factory`, called with literals when they say so."""

import ast
import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.home import samples_folder
from explorer.models.missing_packages import absent, install
from explorer.models.neighbours import importable
from explorer.models.source_text import SourceText, parse_source
from explorer.models.user_code import blamed

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]
MODULE_PREFIX = "explorer_source_"


def build(source: str) -> Built:
    """The module that a factory makes and its example inputs (empty when it gives none)."""
    return _checked(called(source)[0], source)


def called(source: str, offered: Mapping[str, Any] | None = None) -> tuple[Any, frozenset[str]]:
    """What the factory gives, and which of the `offered` keywords it took: those that it names and the text does not."""
    text = split_source(source)
    with _found(text, source) as factory:
        more = {name: value for name, value in (offered or {}).items() if takes(factory, name) and name not in text.keywords}
        text = dataclasses.replace(text, keywords=text.keywords | more)
        _check_arguments(factory, text, source)
        with _named_package(source), blamed(f"{source} failed"):
            return factory(*text.positional, **text.keywords), frozenset(more)


def function_of(source: str) -> Callable[..., Any]:
    """The function that `file.py:name` or `package.module:name` names, not called."""
    text = split_source(source)
    if text.positional or text.keywords:
        raise ExplorerError(f"{source} is called with a batch, not with these arguments", f"give {text.place}:{text.name}")
    with _found(text, source) as function:
        return function


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether the function has a parameter of that name that a keyword can fill."""
    try:
        found = inspect.signature(function).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)


@contextmanager
def _found(text: SourceText, source: str) -> Iterator[Callable[..., Any]]:
    """The named function or class, whose file may import its neighbours within the block."""
    if not text.place.endswith(".py"):
        yield _factory(_import(text.place, source), text)
        return
    path = find_file(text.place)
    with importable(path.parent):
        yield _factory(_load_file(path), text)


def normalised(source: str) -> str:
    """The same source, good from any folder: absolute, or below `samples/` when it is one of ours."""
    text = split_source(source)
    if not text.place.endswith(".py"):
        return text.at(text.place)
    path = find_file(text.place).resolve()
    samples = samples_folder().resolve()
    return text.at(f"samples/{path.relative_to(samples)}" if path.is_relative_to(samples) else str(path))


def split_source(source: str) -> SourceText:
    """The parts of the text; raises `ExplorerError` when it names no factory, or arguments that are not literals."""
    text = parse_source(source)
    if text is not None:
        return text
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
    name = f"{MODULE_PREFIX}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ExplorerError(f"{path} cannot be imported", "give a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it loads
    with _named_package(str(path)), blamed(f"{path} failed to load"):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _named_package(what: str) -> Iterator[None]:
    """Say which package to install when the block fails for want of it."""
    try:
        yield
    except ExplorerError as error:
        package = absent(error.__cause__)
        if package is None:
            raise
        raise ExplorerError(f"{what} needs {package}, which is not installed", install(package)) from error.__cause__


def _import(place: str, source: str) -> ModuleType:
    try:
        with blamed(f"{place} failed to load"):
            return importlib.import_module(place)
    except ExplorerError as error:
        missing = error.__cause__
        if not isinstance(missing, ModuleNotFoundError) or not missing.name:
            raise
        if not place.startswith(missing.name):
            with _named_package(place):
                raise
        package = absent(missing)
        remedy = f"install it with {install(package)}, or give file.py:factory" if package else "check the name"
        raise ExplorerError(f"{source}: there is no module {missing.name}", remedy) from None


def _factory(module: ModuleType, text: SourceText) -> Callable[..., Any]:
    found: Any = module
    for part in text.name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    names = [
        key for key, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]
    raise ExplorerError(f"{text.place} has no factory {text.name}", f"it has {', '.join(names) or 'no class or function'}")


def _check_arguments(factory: Callable[..., Any], text: SourceText, source: str) -> None:
    """Refuse arguments that the factory does not take, before any of its code runs."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*text.positional, **text.keywords)
    except TypeError as error:
        raise ExplorerError(f"{source}: {error}", f"it takes {signature}") from None


def _checked(built: Any, source: str) -> Built:
    module, inputs = built if isinstance(built, tuple) and len(built) == 2 else (built, ())
    if not isinstance(module, nn.Module):
        raise ExplorerError(
            f"{source} gave {type(built).__name__}, not a module", "return a torch.nn.Module, or a module and a tuple of inputs"
        )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if not all(isinstance(item, torch.Tensor) for item in inputs):
        raise ExplorerError(f"{source} gave example inputs that are not tensors", "return (module, (tensor, ...))")
    return module, inputs
