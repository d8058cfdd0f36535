"""Running a module with some of its calls into torch replaced, and noting where."""

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from explorer.conversion.rewrites.rule import Constants, Function, Rule


class Replacing(TorchFunctionMode):
    """Inside, a call into torch that a rule stands in for gives what the rule computes."""

    def __init__(self, rules: Iterable[Rule], constants: Constants, used: "Uses") -> None:
        super().__init__()
        self._constants = constants
        self._used = used
        self._rules: dict[Function, list[Rule]] = {}
        for rule in rules:
            for function in rule.functions:
                self._rules.setdefault(function, []).append(rule)

    def __torch_function__(
        self, func: Function, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        for rule in self._rules.get(func, ()):
            result = rule.replace(self._constants, *args, **(kwargs or {}))
            if result is not NotImplemented:
                if rule.words:
                    self._used.add(rule.words)
                return result
        return func(*args, **(kwargs or {}))


class Uses:
    """Which rules applied in which modules, in the order met."""

    def __init__(self) -> None:
        self.places: dict[str, list[str]] = {}
        self._inside: list[str] = []
        self._handles: list[RemovableHandle] = []

    def watch(self, module: nn.Module) -> None:
        """Know from now on which submodule runs."""
        for name, child in module.named_modules():
            self._handles.append(child.register_forward_pre_hook(lambda *_, name=name: self._inside.append(name)))
            self._handles.append(child.register_forward_hook(lambda *_: self._leave(), always_call=True))

    def forget(self) -> None:
        """Take the hooks out of the module again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._inside.clear()

    def add(self, words: str) -> None:
        places = self.places.setdefault(words, [])
        place = self._inside[-1] if self._inside else ""
        if place and place not in places:
            places.append(place)

    def lines(self) -> list[str]:
        """One line for each rule, with the paths of the modules."""
        return [f"{words} in {', '.join(places)}" if places else words for words, places in self.places.items()]

    def _leave(self) -> None:
        if self._inside:
            self._inside.pop()


class Rewritten(nn.Module):
    """A module that always runs with its replacements; captures see them instead of the original calls."""

    def __init__(self, module: nn.Module, rules: Iterable[Rule]) -> None:
        super().__init__()
        self.module = module
        self.constants = Constants()
        self._rules = tuple(rules)
        self._uses = Uses()

    @property
    def uses(self) -> Uses:
        return self._uses

    def forward(self, *inputs: Any) -> Any:
        with Replacing(self._rules, self.constants, self._uses):
            return self.module(*inputs)
