"""Where a wrong conversion begins: the first value of the source that the converted model nowhere computes.

The source runs eagerly once more, every operator on record with its module and source line. The converted model runs with every
value kept. Values are matched by content, as converters rename, fuse and move: an operator that is fused away leaves no value, so
from each wrong output the search goes back over missing values to those that are there; the earliest missing one is named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from explorer.conversion.matching import Contents
from explorer.conversion.program_values import Computed, computed
from explorer.conversion.tape import Tape, Value, recorded
from explorer.inference.compare import Array
from explorer.inference.coreml.program import Program

# Operators that only move values; what they give is as right as what they are given.
MOVING = frozenset({
    "view", "_unsafe_view", "reshape", "_reshape_alias", "transpose", "t", "permute", "movedim", "expand",
    "unsqueeze", "squeeze", "select", "slice", "split", "split_with_sizes", "chunk", "unbind", "unfold",
    "as_strided", "clone", "detach", "alias", "contiguous", "lift_fresh", "lift_fresh_copy", "_to_copy", "cat",
    "stack", "expand_dims", "slice_by_index", "identity", "cast", "concat", "Reshape", "Transpose", "Unsqueeze",
    "Squeeze", "Slice", "Identity", "Cast", "Split", "Concat", "Expand", "output",
})  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """The first wrong value: `name` and `operator` of the converted model, where one can be told, and where the source makes it.

    `source_operator`, `module` and `line` ("model.py:12") are the source's.
    """

    name: str = ""
    operator: str = ""
    source_operator: str = ""
    module: str = ""
    line: str = ""

    def __str__(self) -> str:
        source = " ".join(part for part in (self.source_operator, f"in {self.module}" if self.module else "") if part)
        source = ", ".join(part for part in (source, self.line) if part)
        if self.name:
            return f"first at {self.name} ({self.operator})" + (f", from {source}" if source else "")
        return f"first at {source}"


def first_difference(
    module: nn.Module,
    inputs: Sequence[Tensor],
    model: Path | str | Program,
    feed: Mapping[str, Array],
    root: nn.Module | None = None,
) -> str:
    """`located` in words, such as "first at add_1 (add), from add in net.cell, model.py:12"; empty when nothing differs."""
    found = located(module, inputs, model, feed, root)
    return str(found) if found is not None else ""


def located(
    module: nn.Module,
    inputs: Sequence[Tensor],
    model: Path | str | Program,
    feed: Mapping[str, Array],
    root: nn.Module | None = None,
) -> Difference | None:
    """The first difference between `module` on `inputs` and the converted `model` on `feed`, which are the same inputs.

    `model` is a float32 .mlpackage, a loaded program or an .onnx file. Module paths are those within `root`. None when
    every output of the source is among the values of the converted model.
    """
    tape = recorded(module, inputs, root)
    values = computed(model, feed)
    wrong = _first_missing(tape, Contents(item.array for item in values if item.array is not None))
    if wrong is None:
        return None
    theirs = _first_foreign(values, Contents([*(item.array for item in tape.values), *feed.values()]), set(feed))
    name, operator = (theirs.name, theirs.operator) if theirs is not None else ("", "")
    return Difference(name, operator, wrong.operator if wrong.operator != "output" else "", wrong.place, wrong.line)


def _first_missing(tape: Tape, contents: Contents) -> Value | None:
    """The earliest value on the way to a wrong output that is missing though all it is made from is there."""
    live: set[int] = set()
    for value in tape.values:
        if value.given or not live.isdisjoint(value.inputs):
            live.add(value.number)
    missing = [value.number in live and not value.given and not contents.holds(value.array) for value in tape.values]
    for value in tape.values:
        if value.operator in MOVING and value.inputs:
            missing[value.number] = missing[value.number] and any(missing[item] for item in value.inputs)
    wrong = [number for number in tape.outputs if not contents.holds(tape.values[number].array)]
    if not wrong:
        return None
    region = _behind(wrong, tape, missing)
    first = tape.values[min(region)] if region else tape.values[wrong[0]]
    # What is only written somewhere goes with a write that is dropped: the write is the fault.
    written = (item for item in tape.values if first.number in item.inputs and missing[item.number])
    return next((item for item in written if item.operator.endswith("_")), first)


def _behind(wrong: list[int], tape: Tape, missing: list[bool]) -> set[int]:
    """The missing values from which a wrong output follows over missing values only, themselves made of values that are there."""
    seen, waiting, first = set(wrong), list(wrong), set()
    while waiting:
        number = waiting.pop()
        before = [item for item in tape.values[number].inputs if missing[item]]
        if not before and tape.values[number].operator not in MOVING:
            first.add(number)
        waiting.extend(item for item in before if item not in seen)
        seen.update(before)
    return first


def _first_foreign(values: list[Computed], contents: Contents, inputs: set[str]) -> Computed | None:
    """The first operation that gives what the source nowhere has, and from which no value of the source's comes."""
    known = {item.name: item.array is None or contents.holds(item.array) for item in values}
    readers: dict[str, list[Computed]] = {}
    for item in values:
        for name in item.inputs:
            readers.setdefault(name, []).append(item)
    return next(
        (item for item in values if not known[item.name] and not _recovers(item, known, readers) and item.operator not in MOVING),
        None,
    )


def _recovers(item: Computed, known: dict[str, bool], readers: dict[str, list[Computed]]) -> bool:
    """Whether the values of the source appear again right behind: then this is only a step that the source does not have."""
    waiting, seen = [item.name], {item.name}
    while waiting:
        for reader in readers.get(waiting.pop(), []):
            if known[reader.name]:
                return True
            if reader.name not in seen:
                seen.add(reader.name)
                waiting.append(reader.name)
    return False
