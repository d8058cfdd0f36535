"""Inputs by name as a program takes them."""

from collections.abc import Mapping
from typing import Any

from explorer.inference.compare import Array
from explorer.inference.coreml.program import Program


def inputs_of(feed: Any) -> Mapping[str, Array]:
    """The inputs of a proof's feed, or the mapping itself."""
    found: Mapping[str, Array] = feed if isinstance(feed, Mapping) else feed.inputs
    return found


def accepted(program: Program, feed: Mapping[str, Array]) -> dict[str, Array]:
    """Those of the inputs that the program has."""
    return {name: feed[name] for name in program.inputs if name in feed}
