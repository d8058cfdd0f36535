"""Mending a float16 program: which operations must stay in float32 so that its values fit again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from explorer.conversion.feeds import accepted, inputs_of
from explorer.conversion.half import LARGEST_HALF, losses, matters
from explorer.conversion.program_values import base_name, reads
from explorer.inference.coreml.evaluate import Evaluator, OpRange
from explorer.inference.coreml.program import Program, Step, load_program
from explorer.schemas.convert_result import PrecisionLoss

MOST_ROUNDS = 5
SMALLEST_NORMAL_HALF = 6.1e-5


@dataclass(frozen=True)
class Repair:
    """`keep_float32` for the spec, and what is still lost with it; `rounds` conversions were made."""

    keep_float32: list[str]
    left: list[PrecisionLoss]
    rounds: int


def keeps_float32(names: Sequence[str]) -> Callable[[Any], bool]:
    """Whether an operation of the converter is one of `names`, by type or name."""
    wanted = set(names)

    def keeps(operation: Any) -> bool:
        made = {operation.name, *(item.name for item in operation.outputs)}
        return operation.op_type in wanted or not wanted.isdisjoint(made | {base_name(name) for name in made})

    return keeps


def repaired(
    keep_float32: Sequence[str],
    convert: Callable[[list[str]], Path],
    feeds: Sequence[Any],
    module: nn.Module | None = None,
    root: nn.Module | None = None,
) -> Repair:
    """Convert with more and more operations in float32 until nothing is lost that matters to an output.

    `convert` writes the float16 package with the given names kept in float32 and gives its path. Whether the last package is as
    good as asked is for its caller's proof to say.
    """
    keep = list(keep_float32)
    for rounds in range(1, MOST_ROUNDS + 1):
        program = load_program(convert(keep))
        # The evaluator rounds every value of a program that declares no half: nothing is left to lose in one.
        left = losses(program, feeds, module, root) if program.declares_half else []
        new = [name for name in repair(program, left, feeds) if name not in keep]
        if not new and any(matters(loss) for loss in left):
            new = sorted({loss.operator for loss in left if matters(loss)} - {*keep, "cast"})
        if not new or rounds == MOST_ROUNDS:
            return Repair(keep, left, rounds)
        keep.extend(new)
    raise AssertionError("the loop returns")


def repair(program: Program, found: Iterable[PrecisionLoss], feeds: Sequence[Any]) -> list[str]:
    """The operations that must stay in float32, in the order of the program: each lossy one, those that give it values beyond
    float16, those after it until values fit again, and for a loss without overflow those that it is made from.

    The name of an output among them means that it must be declared float32.
    """
    harmful = {loss.name: loss.problem for loss in found if matters(loss)}
    steps = [step for step in program.steps() if step.results]
    wide = _wide(program, feeds) if harmful else set()
    kept = _behind(steps, harmful, wide)
    for step in steps:
        if any(name in wide and name in kept for name in reads(step)):
            kept.update(item.name for item in step.results)
    # Casts are the converter's own, set where kept operations end.
    names = [base_name(step.name) for step in steps if step.op_type != "cast" and step.results[0].name in kept]
    return list(dict.fromkeys([*names, *(name for name in program.outputs if name in kept)]))


def _behind(steps: list[Step], harmful: Mapping[str, str], wide: set[str]) -> set[str]:
    """The lossy values with those before them that do not fit, or that a mere loss is made from."""
    kept = set(harmful)
    for step in reversed(steps):
        names = {item.name for item in step.results}
        if names & kept:
            lost = any(harmful.get(name) == "loss" for name in names)
            kept.update(name for name in reads(step) if lost or name in wide or step.op_type == "cast")
    return kept


def _wide(program: Program, feeds: Sequence[Any]) -> set[str]:
    """Values that float16 does not hold."""
    evaluator = Evaluator(program, "float32", ranges=True)
    for feed in feeds:
        evaluator.run(accepted(program, inputs_of(feed)))
    return {item.name for item in evaluator.ranges if not _fits(item)}


def _fits(item: OpRange) -> bool:
    largest = max(abs(item.minimum), abs(item.maximum))
    return (
        not item.has_nan and not item.has_inf and largest <= LARGEST_HALF and (largest == 0.0 or largest >= SMALLEST_NORMAL_HALF)
    )
