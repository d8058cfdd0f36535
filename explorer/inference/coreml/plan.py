"""A program made ready to run many times: settings read once, weights decoded once, every value in a numbered place."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.inference.coreml.gru_loop import gru_loop
from explorer.inference.coreml.half_sums import HALF_SUMS
from explorer.inference.coreml.program import Block, Name, Program, Result, Step
from explorer.inference.coreml.registry import Value
from explorer.inference.coreml.rules import RULES
from explorer.inference.coreml.settling import Place, settle

Mode = Literal["float32", "float16", "float16_accumulate"]
Values = list[Any]
Observe = Callable[[Step, list["Place"], Values], None]
FAILURES = (RuntimeError, ValueError, IndexError, TypeError, KeyError, ArithmeticError, AssertionError)
MAX_LOOP_STEPS = 100_000


@dataclass(frozen=True)
class Call:
    """One step, ready; `frees` are the places of values that nothing reads after it."""

    step: Step
    places: list[Place]
    run: Callable[[Values, Observe | None], None]
    frees: list[int]


@dataclass(frozen=True)
class Calls:
    """A block, ready."""

    inputs: list[int]
    calls: list[Call]
    outputs: list[int]


@dataclass(frozen=True)
class Plan:
    """A program in one mode; `start` holds the constants, `folded` the steps that were run once."""

    start: Values
    body: Calls
    states: dict[str, int]
    folded: list[Call] = field(repr=False)


def planned(program: Program, mode: Mode) -> Plan:
    """The plan of a program in a mode, made once."""
    if mode not in program.plans:
        program.plans[mode] = _Planner(program, mode).plan()
    found: Plan = program.plans[mode]
    return found


def run_calls(block: Calls, values: Values, path: object, observe: Observe | None) -> list[Any]:
    """Run a block on filled places; gives its outputs. Raises `ExplorerError` naming the step that cannot be evaluated."""
    call: Call | None = None
    try:
        for call in block.calls:
            call.run(values, observe)
            if observe is not None:
                observe(call.step, call.places, values)
            for slot in call.frees:
                values[slot] = None
    except FAILURES as error:
        assert call is not None
        text = str(error).strip().splitlines()
        reason = text[0][:200] if text else type(error).__name__
        raise ExplorerError(
            f"{call.step.op_type} at {call.step.name} in {path} cannot be evaluated ({reason})",
            details={"operator": call.step.op_type, "reason": reason},
        ) from error
    return [values[slot] for slot in block.outputs]


class _Planner:
    def __init__(self, program: Program, mode: Mode) -> None:
        self.program = program
        self.half = mode != "float32"
        self.rules = {**RULES, **HALF_SUMS} if mode == "float16_accumulate" else RULES
        self.slots: dict[Name, int] = {}
        self.start: Values = []
        self.fixed: set[int] = set()
        self.folded: list[Call] = []

    def plan(self) -> Plan:
        for name, value in self.program.constants.items():
            self.start[self.slot(name)] = value
            self.fixed.add(self.slots[name])
        states = {name: self.slot(state.variable) for name, state in self.program.states.items()}
        body = self.block(self.program.body)
        return Plan(self.start, body, states, self.folded)

    def slot(self, name: Name) -> int:
        if name not in self.slots:
            self.slots[name] = len(self.start)
            self.start.append(None)
        return self.slots[name]

    def block(self, block: Block) -> Calls:
        inputs = [self.slot(name) for name in block.inputs]
        ready = []
        for step in block.steps:
            if step.op_type.startswith("constexpr_"):
                self.fold(step)
            else:
                ready.append(step)
        outputs = [self.slot(name) for name in block.outputs]
        frees = self.last_uses(ready, frozenset(outputs))
        return Calls(inputs, [self.call(step, freed) for step, freed in zip(ready, frees, strict=True)], outputs)

    def last_uses(self, steps: list[Step], kept: frozenset[int]) -> list[list[int]]:
        """For each step the values of this block that it is the last to read, or that nothing reads."""
        made = {self.slot(result.variable) for step in steps for result in step.results} - kept
        frees: list[list[int]] = []
        for step in reversed(steps):
            used = {self.slot(name) for name in _read_by(step)} | {self.slot(result.variable) for result in step.results}
            frees.append(sorted(used & made))
            made -= used
        return frees[::-1]

    def call(self, step: Step, frees: list[int]) -> Call:
        places = [self.place(step, result) for result in step.results]
        if step.op_type == "cond":
            run = self.condition(step, places)
        elif step.op_type == "while_loop":
            run = self.loop(step, places)
        elif step.op_type == "coreml_update_state":
            run = self.update(step, places)
        else:
            run = self.operation(step, places)
        return Call(step, places, run, frees)

    def fold(self, step: Step) -> None:
        """Run a step on constants now; weights are rounded to the type that the program declares in every mode."""
        known = self.program.decoded
        call = self.call(step, [])
        names = [result.variable for result in step.results]
        if not all(name in known for name in names):
            with torch.inference_mode():
                run_calls(Calls([], [call], []), self.start, self.program.path, None)
            half = [result.dtype == "fp16" for result in step.results]
            for name, place, narrow in zip(names, call.places, half, strict=True):
                value = self.start[place.slot]
                known[name] = value.half().float() if narrow else value
        for name, place in zip(names, call.places, strict=True):
            self.start[place.slot] = known[name]
            self.fixed.add(place.slot)
        self.folded.append(call)

    def place(self, step: Step, result: Result) -> Place:
        rounds = self.half and (result.half or not self.program.declares_half)
        return Place(self.slot(result.variable), result, settle(step, result, rounds))

    def operation(self, step: Step, places: list[Place]) -> Callable[[Values, Observe | None], None]:
        rule = self.rules[step.op_type]
        fixed: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        changing: list[tuple[str, int]] = []
        grouped: list[tuple[str, list[int]]] = []
        read_later: dict[str, Callable[[Any], Any]] = {}
        for key, source in step.inputs.items():
            slots = [self.slot(item) for item in source] if isinstance(source, tuple) else [self.slot(source)]
            if self.fixed.issuperset(slots):
                value: Value = tuple(self.start[slot] for slot in slots) if isinstance(source, tuple) else self.start[slots[0]]
                fixed[key], settings[key] = value, rule.read(key, value)
                continue
            if isinstance(source, tuple):
                grouped.append((key, slots))
            else:
                changing.append((key, slots[0]))
            if key in rule.readers:
                read_later[key] = rule.readers[key]
        special = rule.specialise(fixed) if rule.specialise is not None else None
        if special is not None:
            wanted = inspect.signature(special).parameters
            settings = {key: value for key, value in settings.items() if key in wanted}
        return _runner(special or rule.function, settings, changing, grouped, read_later, places)

    def update(self, step: Step, places: list[Place]) -> Callable[[Values, Observe | None], None]:
        state, value = (self.slot(step.inputs[key]) for key in ("state", "value"))

        def run(values: Values, observe: Observe | None) -> None:
            settled = places[0].settle(values[value]) if places else values[value]
            values[state] = settled
            for place in places:
                values[place.slot] = settled

        return run

    def condition(self, step: Step, places: list[Place]) -> Callable[[Values, Observe | None], None]:
        predicate = self.slot(step.inputs["pred"])
        branches = [self.block(block) for block in step.blocks]
        path = self.program.path

        def run(values: Values, observe: Observe | None) -> None:
            chosen = branches[0] if bool(values[predicate]) else branches[1]
            _put(places, run_calls(chosen, values, path, observe), values)

        return run

    def loop(self, step: Step, places: list[Place]) -> Callable[[Values, Observe | None], None]:
        source = step.inputs["loop_vars"]
        first = [self.slot(item) for item in (source if isinstance(source, tuple) else (source,))]
        condition, body = (self.block(block) for block in step.blocks)
        path = self.program.path
        shortcut = None if self.half else self.shortcut(step)

        def run(values: Values, observe: Observe | None) -> None:
            state = [values[slot] for slot in first]
            done = shortcut(values, *state) if shortcut is not None and observe is None else None
            if done is not None:
                return _put(places, done, values)
            for _ in range(MAX_LOOP_STEPS):
                _fill(condition.inputs, state, values)
                if not bool(run_calls(condition, values, path, observe)[0]):
                    return _put(places, state, values)
                _fill(body.inputs, state, values)
                state = run_calls(body, values, path, observe)
            raise ExplorerError(f"the loop at {step.name} in {path} does not end")

        return run

    def shortcut(self, step: Step) -> Callable[..., tuple[Tensor, Tensor] | None] | None:
        """A loop that is a GRU as one layer; gives None when the values do not allow it."""
        found = gru_loop(step, {name: self.start[slot] for name, slot in self.slots.items() if slot in self.fixed})
        if found is None:
            return None
        name, steps, layer = found
        slot = self.slot(name)

        def run(values: Values, first: Tensor, states: Tensor) -> tuple[Tensor, Tensor] | None:
            sequence = values[slot]
            if len(sequence) != steps or len(states) != steps + 1 or bool(states[1:].any()):
                return None
            return torch.full_like(first, steps), layer(sequence, states)

        return run


def _runner(
    function: Callable[..., Any],
    settings: Mapping[str, Any],
    changing: list[tuple[str, int]],
    grouped: list[tuple[str, list[int]]],
    read_later: Mapping[str, Callable[[Any], Any]],
    places: list[Place],
) -> Callable[[Values, Observe | None], None]:
    """What runs an operation; a single result of changing tensors takes the short way."""
    if len(places) == 1 and not grouped and not read_later:
        slot, settle = places[0].slot, places[0].settle

        def run_short(values: Values, observe: Observe | None) -> None:
            outcome = function(**settings, **{key: values[at] for key, at in changing})
            values[slot] = settle(outcome[0] if type(outcome) is tuple else outcome)

        return run_short

    def run(values: Values, observe: Observe | None) -> None:
        arguments = {key: values[at] for key, at in changing}
        arguments.update({key: tuple(values[at] for at in slots) for key, slots in grouped})
        for key, reader in read_later.items():
            arguments[key] = reader(arguments[key])
        outcome = function(**settings, **arguments)
        _put(places, outcome if isinstance(outcome, tuple) else (outcome,), values)

    return run


def _put(places: list[Place], outcome: Any, values: Values) -> None:
    for place, value in zip(places, outcome, strict=False):
        values[place.slot] = place.settle(value)


def _fill(slots: list[int], state: list[Any], values: Values) -> None:
    for slot, value in zip(slots, state, strict=True):
        values[slot] = value


def _read_by(step: Step) -> set[Name]:
    """Every variable that a step reads, those of its blocks too."""
    found: set[Name] = set()
    for source in step.inputs.values():
        found.update(source if isinstance(source, tuple) else (source,))
    for block in step.blocks:
        found.update(block.outputs)
        for inner in block.steps:
            found |= _read_by(inner)
    return found
