"""Evaluating an ML Program operation by operation, with the range of every value on record.

What is simulated. "float32": every operation computes in float32, whatever type the program declares, so that a difference from
the source is a fault of the conversion. "float16": every float result that the program declares as float16 is rounded to half
(all of them when it declares none), sums inside one operation stay float32: the precision policy of Core ML.
"float16_accumulate": the sums of the large operators are kept in half as well, see half_sums.py. None of them says how a
Neural Engine or GPU kernel orders its sums, nor that an operation runs there.
Integers wrap around at the ends of their declared type; weights are rounded to theirs in every mode.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.inference.coreml.coverage import missing_in, reasons
from explorer.inference.coreml.plan import Mode, planned, run_calls
from explorer.inference.coreml.ports import State, fitted
from explorer.inference.coreml.program import Program, Step, load_program
from explorer.inference.coreml.ranges import OpRange, first_broken, merged, range_of
from explorer.inference.coreml.settling import Place

Array = NDArray[Any]
__all__ = [
    "Evaluation", "Evaluator", "Mode", "OpRange", "evaluate", "evaluate_samples", "first_difference", "missing_ops",
]  # fmt: skip


@dataclass(frozen=True)
class Evaluation:
    """Outputs by name and a range for each float value, in the order of the program; `values` by name when they were kept.

    A classifier gives its label and its probabilities in the order of the classes; `state` is what the program keeps.
    """

    outputs: dict[str, Array]
    ranges: list[OpRange]
    values: dict[str, Array] = field(default_factory=dict)
    state: dict[str, Array] = field(default_factory=dict)

    @property
    def output(self) -> Array:
        """The first output."""
        return next(iter(self.outputs.values()))


class Evaluator:
    """Runs a program any number of times in one mode, its state carried from call to call.

    Ranges cover all calls; neither they nor values are recorded unless asked for, which costs time.
    """

    def __init__(self, package: Path | str | Program, mode: Mode = "float32", ranges: bool = False, keep_values: bool = False):
        self.program = _loaded(package)
        _check_rules(self.program)
        self._half = mode != "float32"
        self._plan = planned(self.program, mode)
        self._keep_values = keep_values
        self._observe = self._record if ranges or keep_values else None
        self._ranges: dict[str, OpRange] = {}
        self._values: dict[str, Array] = {}
        self._state: dict[str, Tensor] = {}
        self.reset()
        if self._observe is not None:
            for call in self._plan.folded:
                self._record(call.step, call.places, self._plan.start)

    @property
    def ranges(self) -> list[OpRange]:
        """The range of every float value so far."""
        return list(self._ranges.values())

    @property
    def state(self) -> dict[str, Array]:
        """A copy of what the program keeps now."""
        return {name: _as_array(value) for name, value in self._state.items()}

    def reset(self, state: Mapping[str, Array] | None = None) -> None:
        """Set the state, to zeros where it is not given."""
        given = dict(state or {})
        self._state = {name: self._start(item, given.pop(name, None)) for name, item in self.program.states.items()}
        if given:
            raise ExplorerError(f"{self.program.path} keeps no state {', '.join(given)}", self._known_states())

    def run(self, inputs: Mapping[str, Array]) -> Evaluation:
        """One call; flexible dimensions take their size from the inputs. Raises `ExplorerError` for inputs that do not fit."""
        program, plan = self.program, self._plan
        _check_names(program, inputs)
        values = plan.start.copy()
        with torch.inference_mode():
            for slot, port in zip(plan.body.inputs, program.inputs.values(), strict=True):
                value = fitted(port, inputs[port.name], program.path)
                rounds = self._half and not port.integer and (port.half or not program.declares_half)
                values[slot] = value.half().float() if rounds else value
            for name, slot in plan.states.items():
                values[slot] = self._state[name]
            results = run_calls(plan.body, values, program.path, self._observe)
            self._state = {name: values[slot] for name, slot in plan.states.items()}
        outputs = {name: _as_array(value) for name, value in zip(program.outputs, results, strict=True)}
        kept, self._values = self._values, {}
        return Evaluation(outputs, self.ranges, kept, self.state if program.states else {})

    def _start(self, item: State, given: Array | None) -> Tensor:
        if given is None:
            return torch.zeros(item.shape, dtype=torch.int64 if item.integer else torch.float32)
        if given.shape != item.shape:
            shapes = ["x".join(map(str, shape)) for shape in (item.shape, given.shape)]
            raise ExplorerError(f"the state {item.name} of {self.program.path} is {shapes[0]}, given {shapes[1]}")
        return torch.from_numpy(given.astype(np.int64 if item.integer else np.float32))

    def _known_states(self) -> str:
        return f"it keeps {', '.join(self.program.states)}" if self.program.states else ""

    def _record(self, step: Step, places: list[Place], values: list[Any]) -> None:
        for place in places:
            value = values[place.slot]
            if isinstance(value, Tensor) and value.is_floating_point():
                new = range_of(step, place.result, value)
                old = self._ranges.get(place.result.name)
                self._ranges[place.result.name] = new if old is None else merged(old, new)
            if self._keep_values:
                self._values[place.result.name] = _as_array(value)


def evaluate(
    package: Path | str | Program,
    inputs: Mapping[str, Array],
    mode: Mode,
    keep_values: bool = False,
    *,
    ranges: bool = True,
    state: Mapping[str, Array] | None = None,
) -> Evaluation:
    """Run the program once on `inputs` as they are; flexible dimensions take their size from them.

    `state` is what the program starts from, zeros where it is not given. Without `ranges` the call is faster.
    Raises `ExplorerError` for inputs that do not fit and for an operation without a rule.
    """
    evaluator = Evaluator(package, mode, ranges, keep_values)
    if state:
        evaluator.reset(state)
    return evaluator.run(inputs)


def evaluate_samples(package: Path | str | Program, inputs: Array | Mapping[str, Array], mode: Mode) -> Evaluation:
    """Run (samples, ...) inputs, a bare array for a program with one input, in pieces that the program's first dimension allows.

    A last piece short of a fixed first dimension is filled up with its last sample; ranges cover all pieces.
    """
    program = _loaded(package)
    feeds = {next(iter(program.inputs)): inputs} if isinstance(inputs, np.ndarray) else dict(inputs)
    _check_names(program, feeds)
    evaluator = Evaluator(program, mode, ranges=True)
    pieces = [
        {name: values[:kept] for name, values in evaluator.run(feed).outputs.items()} for feed, kept in _pieces(program, feeds)
    ]
    if not pieces:
        raise ExplorerError(f"{program.path} was given no samples", "give at least one")
    outputs = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return Evaluation(outputs, evaluator.ranges)


def missing_ops(package: Path | str | Program) -> list[str]:
    """The op types in the program that have no rule here, sorted; empty when it can be evaluated."""
    return missing_in(_loaded(package))


def first_difference(half: Evaluation, reference: Evaluation) -> str:
    """The first operation that float16 breaks: NaN, overflow or all zero where float32 is fine; empty when none does.

    A constant that lies beyond float16 is already infinite in the file, so a NaN in both counts when nothing else is found.
    """
    return first_broken(half.ranges, reference.ranges)


def _loaded(package: Path | str | Program) -> Program:
    return package if isinstance(package, Program) else load_program(package)


def _check_rules(program: Program) -> None:
    missing = missing_in(program)
    if missing:
        place = next(step.name for step in program.steps() if step.op_type == missing[0])
        why = reasons().get(missing[0], "")
        raise ExplorerError(
            f"the reference evaluator has no rule for {', '.join(missing)} (first at {place} in {program.path})",
            why,
            {"operator": missing[0], "reason": why or "no rule"},
        )


def _check_names(program: Program, feeds: Mapping[str, object]) -> None:
    if feeds.keys() != program.inputs.keys():
        raise ExplorerError(f"{program.path} has the inputs {', '.join(program.inputs)}; given were {', '.join(feeds)}")


def _pieces(program: Program, feeds: Mapping[str, Array]) -> Iterator[tuple[dict[str, Array], int]]:
    """Feeds of at most the program's batch and no fewer than it allows, each with how many of its samples are real."""
    ports = program.inputs.values()
    size = min(port.max_batch for port in ports)
    fixed = any(port.shape[:1] != (None,) or port.shapes for port in ports)
    least = size if fixed else max((port.bounds[0][0] for port in ports if port.bounds), default=1)
    total = min(len(values) for values in feeds.values())
    for start in range(0, total, size):
        kept = min(size, total - start)
        positions = np.arange(start, start + max(kept, least)).clip(max=total - 1)
        yield {name: values[positions] for name, values in feeds.items()}, kept


def _as_array(value: Any) -> Array:
    if not isinstance(value, Tensor):
        return np.asarray([_as_array(item) for item in value]) if isinstance(value, tuple) else np.asarray(value)
    array = value.numpy()
    return array.astype(np.int32) if array.dtype == np.int64 else array.copy()
