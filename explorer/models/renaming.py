"""Two sets of names that differ by what they begin with, such as `module.` or `state_dict.`: which prefixes to set aside."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

DEPTH = 3  # dotted components of a prefix
CANDIDATES = 8
Value = TypeVar("Value")


@dataclass(frozen=True)
class Renaming:
    """`first` and `second` are taken from the beginning of each side's names where they stand; `matches` names are then equal."""

    first: str
    second: str
    matches: int

    @property
    def is_needed(self) -> bool:
        return bool(self.first or self.second)


def best_renaming(first: Mapping[str, object], second: Mapping[str, object]) -> Renaming:
    """The prefixes after which most names are equal with equal values; of equals the shortest.

    None when they gain nothing, or make fewer than half of the smaller side's names equal.
    """
    left = {prefix: renamed(first, prefix) for prefix in _prefixes(first)}
    right = {prefix: renamed(second, prefix) for prefix in _prefixes(second)}
    options = [Renaming(one, other, _matches(left[one], right[other])) for one in left for other in right]
    fewest = min(len(first), len(second)) / 2
    options = [item for item in options if not item.is_needed or item.matches >= fewest]
    return max(options, key=lambda item: (item.matches, -len(item.first) - len(item.second)))


def renamed(table: Mapping[str, Value], prefix: str) -> dict[str, Value]:
    """The table without `prefix`; a name that has it goes before one that is like that already."""
    if not prefix:
        return dict(table)
    others = {name: value for name, value in table.items() if not name.startswith(prefix)}
    return others | {name.removeprefix(prefix): value for name, value in table.items() if name.startswith(prefix)}


def _prefixes(names: Iterable[str]) -> list[str]:
    """Nothing, and the beginnings that most names have."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")[:-1][:DEPTH]
        counts.update(".".join(parts[: end + 1]) + "." for end in range(len(parts)))
    return ["", *(prefix for prefix, _ in counts.most_common(CANDIDATES))]


def _matches(first: Mapping[str, object], second: Mapping[str, object]) -> int:
    return sum(name in second and second[name] == value for name, value in first.items())
