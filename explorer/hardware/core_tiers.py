"""Core tiers of a Mac from what tools say in words or letters, where `sysctl` was not recorded."""

import re
from typing import Any

# "8 (4 performance and 4 efficiency)" of system_profiler's text; "18 (6 Super and 12 Performance)" on an M5 Max.
SPLIT = re.compile(r"([0-9]{1,4}) \((.+)\)")
PART = re.compile(r"([0-9]{1,4}) ([A-Za-z]+)")
# `number_processors` has four shapes (T, T:P:E, T:S:E:M, T:S:P:E): the first number is always the sum, and with three
# numbers alone the other two always mean the same.
COUNTS = re.compile(r"(?:proc )?([0-9]{1,4})((?::[0-9]{1,4})*)")
LETTERS = {"S": "Super", "P": "Performance", "M": "Performance", "E": "Efficiency"}
RANKS = ("Super", "Performance", "Efficiency")


def tier(name: str, cores: int, max_mhz: int | None = None, **more: Any) -> dict[str, Any]:
    """One tier of cores that run one thread each, its caches not told."""
    caches = {"l1d_bytes": None, "l2_bytes": None}
    return {"name": name, "cores": cores, "threads": cores, **caches, "max_mhz": max_mhz, **more}


def ranked(tiers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, fastest first; names that are not known keep their place at the end."""
    order = {name: rank for rank, name in enumerate(RANKS)}
    return sorted(tiers, key=lambda item: order.get(item["name"], len(RANKS)))


def of_profile(text: str) -> list[dict[str, Any]]:
    """From system_profiler's count of cores in either form."""
    return of_words(text) or of_counts(text)


def of_words(text: str) -> list[dict[str, Any]]:
    """From a count with its split in words; empty when the split does not add up."""
    match = SPLIT.fullmatch(text.strip())
    parts = [(int(count), name) for count, name in PART.findall(match[2])] if match else []
    if not match or sum(count for count, _ in parts) != int(match[1]):
        return []
    return ranked([tier(name.capitalize(), count) for count, name in parts if count])


def of_counts(text: str) -> list[dict[str, Any]]:
    """From `proc T:P:E`; any other shape gives one tier of all cores, since its further numbers are ambiguous."""
    match = COUNTS.fullmatch(text.strip())
    if match is None or not int(match[1]):
        return []
    total, rest = int(match[1]), [int(count) for count in match[2].split(":")[1:]]
    if len(rest) == 2 and sum(rest) == total and all(rest):
        return [tier("Performance", rest[0]), tier("Efficiency", rest[1])]
    return [tier("All cores", total)]
