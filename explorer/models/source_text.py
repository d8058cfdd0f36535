"""The text of a source that is code, taken apart: `place:factory` or `place:factory(8, width=3)`, without running any of it."""

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import ExplorerError

SHAPE = re.compile(r"(?P<place>.+?):(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*(?P<arguments>\(.*\))?\s*", re.DOTALL)


@dataclass(frozen=True)
class SourceText:
    """A file or module, the factory's (dotted) name in it, and what the factory is called with."""

    place: str
    name: str
    positional: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def at(self, place: str) -> str:
        """The same source in another place; arguments as Python writes them."""
        parts = [repr(value) for value in self.positional]
        parts += [f"{name}={value!r}" for name, value in self.keywords.items()]
        return f"{place}:{self.name}" + (f"({', '.join(parts)})" if parts else "")


def parse_source(source: str) -> SourceText | None:
    """The parts of `source`; None when it names no factory. Raises `ExplorerError` for arguments that are not literals."""
    found = SHAPE.fullmatch(source)
    if found is None:
        return None
    positional, keywords = _arguments(found["arguments"] or "()", source)
    return SourceText(found["place"], found["name"], positional, keywords)


def _arguments(text: str, source: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a backslash in a string that escapes nothing
            warnings.simplefilter("ignore", SyntaxWarning)
            call = ast.parse(f"f{text}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        positional = tuple(ast.literal_eval(value) for value in call.args)
        keywords = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg is not None}
        if len(keywords) != len(call.keywords):
            raise ValueError
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ExplorerError(
            f"{source}: the arguments {text[:80]} are not all literals",
            'give numbers, strings, booleans, None, lists or dicts, such as net.py:Net(width=8, act="relu")',
        ) from None
    return positional, keywords
