"""Evaluating an ML Program operation by operation, with the range of every value on record.

What is simulated. "float32": every operation computes in float32, whatever type the program declares, so that a difference from
the source is a fault of the conversion. "float16": every float result that the program declares as float16 is rounded to half
(all of them when it declares none), sums inside one operation stay float32: the precision policy of Core ML. Neither says how a
Neural Engine or GPU kernel orders its sums, nor that an operation runs there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.inference.coreml.program import Block, Name, Port, Program, Result, Step, load_program
from explorer.inference.coreml.registry import Value
from explorer.inference.coreml.rules import RULES

Array = NDArray[Any]
Mode = Literal["float32", "float16"]
CONTROL_FLOW = frozenset({"cond", "while_loop"})
MAX_LOOP_STEPS = 100_000


@dataclass(frozen=True)
class OpRange:
    """What one float value went through: its finite minimum and maximum, and whether NaN or infinities appeared."""

    name: str
    op: str
    op_type: str
    minimum: float
    maximum: float
    has_nan: bool
    has_inf: bool


@dataclass(frozen=True)
class Evaluation:
    """Outputs by name and a range for each float value, in the order of the program; `values` by name when they were kept."""

    outputs: dict[str, Array]
    ranges: list[OpRange]
    values: dict[str, Array] = field(default_factory=dict)

    @property
    def output(self) -> Array:
        """The first output."""
        return next(iter(self.outputs.values()))


def evaluate(package: Path | str | Program, inputs: Mapping[str, Array], mode: Mode, keep_values: bool = False) -> Evaluation:
    """Run the program once on `inputs` as they are; flexible dimensions take their size from them.

    Raises `ExplorerError` for inputs that do not fit and for an operation without a rule.
    """
    interpreter = _Interpreter(_loaded(package), mode, keep_values)
    outputs = interpreter.run(inputs)
    return Evaluation(outputs, list(interpreter.ranges.values()), interpreter.kept)


def evaluate_samples(package: Path | str | Program, inputs: Array | Mapping[str, Array], mode: Mode) -> Evaluation:
    """Run (samples, ...) inputs, a bare array for a program with one input, in pieces that the program's first dimension allows.

    A last piece short of a fixed first dimension is filled up with its last sample; ranges cover all pieces.
    """
    program = _loaded(package)
    feeds = {next(iter(program.inputs)): inputs} if isinstance(inputs, np.ndarray) else dict(inputs)
    _check_names(program, feeds)
    interpreter = _Interpreter(program, mode)
    pieces = [{name: values[:kept] for name, values in interpreter.run(feed).items()} for feed, kept in _pieces(program, feeds)]
    if not pieces:
        raise ExplorerError(f"{program.path} was given no samples", "give at least one")
    outputs = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return Evaluation(outputs, list(interpreter.ranges.values()))


def missing_ops(package: Path | str | Program) -> list[str]:
    """The op types in the program that have no rule here, sorted; empty when it can be evaluated."""
    found = {step.op_type for step in _loaded(package).steps()}
    return sorted(found - RULES.keys() - CONTROL_FLOW)


def first_difference(half: Evaluation, reference: Evaluation) -> str:
    """The first operation that float16 breaks: NaN, overflow or all zero where float32 is fine; empty when none does.

    A constant that lies beyond float16 is already infinite in the file, so a NaN in both counts when nothing else is found.
    """
    expected = {item.name: item for item in reference.ranges}
    for item in half.ranges:
        other = expected.get(item.name)
        problem = _problem(item, other) if other is not None else ""
        if problem:
            return f"{item.op} ({item.op_type}) {problem}"
    lost = next((item for item in half.ranges if item.has_nan), None)
    return f"{lost.op} ({lost.op_type}) turns NaN: a constant before it lies beyond float16's 65504" if lost else ""


def _problem(half: OpRange, reference: OpRange) -> str:
    largest = max(abs(reference.minimum), abs(reference.maximum))
    if half.has_inf and not reference.has_inf:
        return f"overflows float16: it reaches {largest:.3g} in float32, float16 ends at 65504"
    if half.has_nan and not reference.has_nan:
        return "turns NaN in float16"
    if half.minimum == half.maximum == 0.0 and not half.has_inf and largest > 0.0:
        return f"underflows to zero in float16: its largest value is {largest:.3g} in float32"
    return ""


def _loaded(package: Path | str | Program) -> Program:
    return package if isinstance(package, Program) else load_program(package)


def _check_names(program: Program, feeds: Mapping[str, object]) -> None:
    if feeds.keys() != program.inputs.keys():
        raise ExplorerError(f"{program.path} has the inputs {', '.join(program.inputs)}; given were {', '.join(feeds)}")


def _pieces(program: Program, feeds: Mapping[str, Array]) -> Iterator[tuple[dict[str, Array], int]]:
    """Feeds of at most the program's batch, each with how many of its samples are real."""
    size = min(port.max_batch for port in program.inputs.values())
    fixed = any(port.shape[:1] != (None,) for port in program.inputs.values())
    total = min(len(values) for values in feeds.values())
    for start in range(0, total, size):
        kept = min(size, total - start)
        positions = np.arange(start, start + (size if fixed else kept)).clip(max=total - 1)
        yield {name: values[positions] for name, values in feeds.items()}, kept


class _Interpreter:
    """Runs a program any number of times in one mode; constants that are compressed are made dense once."""

    def __init__(self, program: Program, mode: Mode, keep_values: bool = False) -> None:
        missing = missing_ops(program)
        if missing:
            place = next(step.name for step in program.steps() if step.op_type == missing[0])
            raise ExplorerError(
                f"the reference evaluator has no rule for {', '.join(missing)} (first at {place} in {program.path})"
            )
        self.program = program
        self.half = mode == "float16"
        self.fixed: dict[Name, Value] = dict(program.constants)
        self.ranges: dict[str, OpRange] = {}
        self.keep_values = keep_values
        self.kept: dict[str, Array] = {}
        for step in program.steps():
            if step.op_type.startswith("constexpr_"):
                self._run_step(step, self.fixed)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        _check_names(self.program, inputs)
        values = dict(self.fixed)
        with torch.inference_mode():
            for variable, port in zip(self.program.body.inputs, self.program.inputs.values(), strict=True):
                values[variable] = self._input(port, inputs[port.name])
            results = self._run_block(self.program.body, values)
        return {name: _as_array(value) for name, value in zip(self.program.outputs, results, strict=True)}

    def _input(self, port: Port, given: Array) -> Tensor:
        array = np.asarray(given)
        fits = array.ndim == len(port.shape) and all(
            want in (None, got) for want, got in zip(port.shape, array.shape, strict=True)
        )
        if not fits:
            wanted = "x".join("?" if size is None else str(size) for size in port.shape)
            raise ExplorerError(f"input {port.name} of {self.program.path} is {wanted}, given {'x'.join(map(str, array.shape))}")
        if port.integer:
            return torch.from_numpy(array.astype(np.int64))
        value = torch.from_numpy(array.astype(np.float32))
        return _to_half(value) if self.half and (port.half or not self.program.declares_half) else value

    def _run_block(self, block: Block, values: dict[Name, Value]) -> list[Value]:
        for step in block.steps:
            if not step.op_type.startswith("constexpr_"):
                self._run_step(step, values)
        return [values[variable] for variable in block.outputs]

    def _run_step(self, step: Step, values: dict[Name, Value]) -> None:
        try:
            outcome = self._outcome(step, values)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise ExplorerError(f"{step.op_type} at {step.name} in {self.program.path} cannot be evaluated ({error})") from error
        for result, value in zip(step.results, outcome, strict=False):
            settled = self._settled(result, value) if isinstance(value, Tensor) else value
            values[result.variable] = settled
            if isinstance(settled, Tensor) and settled.is_floating_point():
                self._record(step, result, settled)
            if self.keep_values:
                self.kept[result.name] = _as_array(settled)

    def _outcome(self, step: Step, values: dict[Name, Value]) -> tuple[Value, ...] | list[Value]:
        if step.op_type == "cond":
            chosen = step.blocks[0] if bool(values[step.inputs["pred"]]) else step.blocks[1]
            return self._run_block(chosen, values)
        if step.op_type == "while_loop":
            return self._loop(step, values)
        arguments = {key: _read(values, source) for key, source in step.inputs.items()}
        outcome = RULES[step.op_type](**arguments)
        return outcome if isinstance(outcome, tuple) else (outcome,)

    def _loop(self, step: Step, values: dict[Name, Value]) -> list[Value]:
        state = list(_tuple(_read(values, step.inputs["loop_vars"])))
        condition, body = step.blocks
        for _ in range(MAX_LOOP_STEPS):
            values.update(zip(condition.inputs, state, strict=True))
            if not bool(self._run_block(condition, values)[0]):
                return state
            values.update(zip(body.inputs, state, strict=True))
            state = self._run_block(body, values)
        raise ExplorerError(f"the loop at {step.name} in {self.program.path} does not end")

    def _settled(self, result: Result, value: Tensor) -> Tensor:
        """The value in the type that the program declares."""
        if result.kind == "bool":
            return value.bool()
        if result.kind == "int":
            return value.long()
        value = value.float()
        return _to_half(value) if self.half and (result.half or not self.program.declares_half) else value

    def _record(self, step: Step, result: Result, value: Tensor) -> None:
        new = _range(step, result, value)
        old = self.ranges.get(result.name)
        self.ranges[result.name] = new if old is None else _merged(old, new)


def _read(values: dict[Name, Value], source: Name | tuple[Name, ...]) -> Value:
    return tuple(values[item] for item in source) if isinstance(source, tuple) else values[source]


def _tuple(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _to_half(value: Tensor) -> Tensor:
    return value.half().float()


def _range(step: Step, result: Result, value: Tensor) -> OpRange:
    if not value.numel():
        return OpRange(result.name, step.name, step.op_type, 0.0, 0.0, False, False)
    low, high = (float(end) for end in value.aminmax())
    if np.isfinite(low) and np.isfinite(high):
        return OpRange(result.name, step.name, step.op_type, low, high, False, False)
    finite = value[value.isfinite()]
    low, high = (float(end) for end in finite.aminmax()) if finite.numel() else (0.0, 0.0)
    return OpRange(result.name, step.name, step.op_type, low, high, bool(value.isnan().any()), bool(value.isinf().any()))


def _merged(old: OpRange, new: OpRange) -> OpRange:
    return replace(
        old,
        minimum=min(old.minimum, new.minimum),
        maximum=max(old.maximum, new.maximum),
        has_nan=old.has_nan or new.has_nan,
        has_inf=old.has_inf or new.has_inf,
    )


def _as_array(value: Value) -> Array:
    if not isinstance(value, Tensor):
        return np.asarray(value)
    array = value.numpy()
    return array.astype(np.int32) if array.dtype == np.int64 else array.copy()
