"""The table of operator rules: each MIL op type has one function on torch tensors."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

Value = Tensor | str | tuple["Value", ...]
Outcome = Tensor | tuple[Any, ...]
Function = Callable[..., Outcome]
F = TypeVar("F", bound=Callable[..., Any])


def ints(value: Any) -> list[int]:
    """A vector or scalar, or a tuple of them, as Python integers."""
    if isinstance(value, tuple):
        return [number for item in value for number in ints(item)]
    return [int(item) for item in value.reshape(-1).tolist()]


def flags(value: Any) -> list[bool]:
    """A vector or scalar, or a tuple of them, as Python booleans."""
    return [bool(item) for item in ints(value)]


# How an argument that is a setting, not a tensor, is read: by the annotation of the rule's parameter.
READERS: dict[Any, Callable[[Any], Any]] = {
    int: lambda value: int(value.item()),
    float: lambda value: float(value.item()),
    bool: lambda value: bool(value.item()),
    list[int]: ints,
    list[bool]: flags,
}


@dataclass(frozen=True)
class Rule:
    """A function on MIL's input names as keywords, and a reader for each input that it takes as a Python value.

    Tensors arrive as float32, int64 or bool (stored 8-bit weights as they are), strings as str, lists of values as tuples.
    `specialise` may turn constant inputs, given once, into a faster function of the others; None where it cannot.
    """

    function: Function
    readers: Mapping[str, Callable[[Any], Any]]
    specialise: Callable[[Mapping[str, Any]], Function | None] | None = None

    def __call__(self, **arguments: Any) -> Outcome:
        """The outcome for tensors, strings and tuples as a program holds them."""
        return self.function(**{key: self.read(key, value) for key, value in arguments.items()})

    def read(self, key: str, value: Any) -> Any:
        """One argument as the function takes it."""
        reader = self.readers.get(key)
        return value if reader is None or isinstance(value, str) else reader(value)


RULES: dict[str, Rule] = {}


def made_rule(function: Function) -> Rule:
    """A rule whose readers follow from the annotations of `function`."""
    found = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kinds = getattr(parameter.annotation, "__args__", ()) if parameter.annotation not in READERS else ()
        reader = next((READERS[kind] for kind in (parameter.annotation, *kinds) if kind in READERS), None)
        if reader is not None:
            found[name] = reader
    return Rule(function, found)


def rule(*op_types: str, table: dict[str, Rule] = RULES) -> Callable[[F], F]:
    """Register the decorated function for these op types."""

    def register(function: F) -> F:
        made = made_rule(function)
        table.update(dict.fromkeys(op_types, made))
        return function

    return register


def specialised(op_type: str) -> Callable[[F], F]:
    """Register the decorated function as the `specialise` of a rule."""

    def register(function: F) -> F:
        known = RULES[op_type]
        RULES[op_type] = Rule(known.function, known.readers, function)
        return function

    return register
