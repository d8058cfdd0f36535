"""What float16 breaks: a program run in float32 and float16 side by side, one operation after the other.

Only the values that are still needed are held, in both precisions, whatever the length of the program.
A loss is named where it begins: what follows from a broken value is not named again.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.conversion.feeds import accepted, inputs_of
from explorer.conversion.program_values import base_name
from explorer.conversion.tape import Tape, Value, recorded
from explorer.inference.compare import Array
from explorer.inference.coreml.evaluate import Evaluator, Mode
from explorer.inference.coreml.plan import Call, Plan, planned
from explorer.inference.coreml.ports import fitted
from explorer.inference.coreml.program import Name, Program, load_program
from explorer.schemas.convert_result import PrecisionLoss

LARGEST_HALF = 65504.0
LEAST_SNR_DB = 30.0
NEAR_ENOUGH = 0.03
ORDER = ("nan", "overflow", "underflow", "loss")
HARMLESS = "none needed: it reaches no output"


@dataclass
class _Found:
    """What one call showed: a loss by its variable, and the variables that are worse than they should be."""

    losses: dict[Name, PrecisionLoss] = field(default_factory=dict)
    exact: dict[Name, Array] = field(default_factory=dict)
    quality_db: dict[Name, float] = field(default_factory=dict)
    tainted: set[Name] = field(default_factory=set)

    def bad(self, variable: Name) -> bool:
        return self.quality_db.get(variable, math.inf) < LEAST_SNR_DB


def losses(
    program: Program | Path | str, feeds: Iterable[Any], module: nn.Module | None = None, root: nn.Module | None = None
) -> list[PrecisionLoss]:
    """The values of a float16 program that break in half, in the order of the program, the worst over all feeds.

    `problem` is overflow (infinite in half), nan, underflow (all zero in half) or loss (under 30 dB where its inputs have more).
    `feeds` are those of a proof, or mappings of inputs by name. With `module`, which takes a feed's inputs in their order, each
    loss carries the module path within `root` and the source line of the value.
    """
    loaded = program if isinstance(program, Program) else load_program(program)
    worst: dict[str, PrecisionLoss] = {}
    for feed in feeds:
        found = _one_call(loaded, accepted(loaded, inputs_of(feed)))
        if found.losses and module is not None:
            _place(found, recorded(module, [torch.from_numpy(np.array(item)) for item in inputs_of(feed).values()], root))
        _excuse(loaded, found)
        for loss in found.losses.values():
            old = worst.get(loss.name)
            worst[loss.name] = loss if old is None or _rank(loss) < _rank(old) else old
    order = {result.name: at for at, result in enumerate(item for step in loaded.steps() for item in step.results)}
    return sorted(worst.values(), key=lambda item: order[item.name])


def matters(loss: PrecisionLoss) -> bool:
    """Whether an output of the program suffers from it."""
    return loss.remedy != HARMLESS


def _rank(loss: PrecisionLoss) -> tuple[bool, int]:
    return not matters(loss), ORDER.index(loss.problem)


def _one_call(program: Program, feed: Mapping[str, Array]) -> _Found:
    found = _Found(tainted={name for name, value in program.constants.items() if _is_beyond(value)})
    makers = {result.variable: step.op_type for step in program.body.steps for result in step.results}
    for call, exact, half in _side_by_side(program, feed):
        read = _reads(call)
        before = min((found.quality_db[name] for name in read if name in found.quality_db), default=math.inf)
        is_tainted = not found.tainted.isdisjoint(read)
        for place in call.places:
            value, rounded = exact[place.slot], half[place.slot]
            if place.result.kind != "float" or not isinstance(value, Tensor):
                continue
            variable = place.result.variable
            problem, snr = _judged(value, rounded, is_tainted)
            found.quality_db[variable] = snr
            if is_tainted:
                found.tainted.add(variable)
            if problem and before >= LEAST_SNR_DB:
                # A cast only shows what the operator before it gave.
                operator = makers.get(call.step.inputs["x"], "cast") if call.step.op_type == "cast" else call.step.op_type
                found.losses[variable] = _loss(operator, place.result.name, value, problem, snr, is_tainted)
                found.exact[variable] = value.numpy().copy()
    return found


def _side_by_side(program: Program, feed: Mapping[str, Array]) -> Iterator[tuple[Call, list[Any], list[Any]]]:
    """After each operation: it, and all values in float32 and in float16."""
    plans = planned(program, "float32"), planned(program, "float16")
    exact, half = _started(program, plans[0], feed, "float32"), _started(program, plans[1], feed, "float16")
    for one, other in zip(plans[0].body.calls, plans[1].body.calls, strict=True):
        with torch.inference_mode():
            one.run(exact, None)
            other.run(half, None)
        yield one, exact, half
        for slot in one.frees:
            exact[slot] = half[slot] = None


def _started(program: Program, plan: Plan, feed: Mapping[str, Array], mode: Mode) -> list[Any]:
    """The values with inputs and states in place."""
    values, state = plan.start.copy(), Evaluator(program, mode).state
    for slot, port in zip(plan.body.inputs, program.inputs.values(), strict=True):
        value = fitted(port, feed[port.name], program.path)
        rounds = mode != "float32" and not port.integer and (port.half or not program.declares_half)
        values[slot] = value.half().float() if rounds else value
    for name, slot in plan.states.items():
        values[slot] = torch.from_numpy(state[name])
    return values


def _reads(call: Call) -> list[Name]:
    return [item for source in call.step.inputs.values() for item in (source if isinstance(source, tuple) else (source,))]


def _is_beyond(value: Any) -> bool:
    """A constant that is infinite in the file: beyond float16, or meant so."""
    return isinstance(value, Tensor) and value.is_floating_point() and bool(value.isinf().any())


def _judged(exact: Tensor, half: Tensor, is_tainted: bool) -> tuple[str, float]:
    """The problem of a value, "" when there is none, and its signal-to-noise ratio where it is finite."""
    if bool(half.isnan().any()) and (is_tainted or not bool(exact.isnan().any())):
        return "nan", -math.inf
    if bool((half.isinf() & exact.isfinite()).any()):
        return "overflow", -math.inf
    finite = exact.isfinite() & half.isfinite()
    signal, noise = exact[finite].double(), (exact - half)[finite].double()
    power, error = float(signal.square().sum()), float(noise.square().sum())
    if power > 0.0 and not bool(half.any()):
        return "underflow", 0.0
    snr = math.inf if error == 0.0 else 10.0 * math.log10(power / error) if power > 0.0 else -math.inf
    return ("loss" if snr < LEAST_SNR_DB else ""), snr


def _loss(operator: str, name: str, exact: Tensor, problem: str, snr: float, is_tainted: bool) -> PrecisionLoss:
    finite = exact[exact.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else math.inf
    number = snr if math.isfinite(snr) else None
    return PrecisionLoss(
        name=name,
        operator=operator,
        problem=problem,
        largest=largest if math.isfinite(largest) else LARGEST_HALF,
        snr_db=number,
        remedy=_remedy(problem, name, is_tainted),
    )


def _remedy(problem: str, name: str, is_tainted: bool) -> str:
    if problem == "nan" and is_tainted:
        return "use -1e4 instead of finfo.min or -inf in the mask: the constant lies beyond float16's 65504"
    keep = f"keep {base_name(name)} in float32"
    return {
        "overflow": f"{keep}, or scale its inputs down: float16 ends at 65504",
        "underflow": f"{keep}, or scale its inputs up: float16 begins at 6e-8",
        "loss": f"{keep} with the values that it is made from",
    }.get(problem, keep)


def _excuse(program: Program, found: _Found) -> None:
    """Say of losses that reach no output through bad values that nothing needs to be done."""
    makers = {result.variable: step for step in program.body.steps for result in step.results}
    waiting = [name for name in program.body.outputs if found.bad(name)]
    reached: set[Name] = set(waiting)
    while waiting:
        step = makers.get(waiting.pop())
        for source in step.inputs.values() if step is not None else ():
            for name in source if isinstance(source, tuple) else (source,):
                if found.bad(name) and name not in reached:
                    reached.add(name)
                    waiting.append(name)
    for variable, loss in found.losses.items():
        if variable not in reached:
            found.losses[variable] = loss.model_copy(update={"remedy": HARMLESS})


def _place(found: _Found, tape: Tape) -> None:
    """Add the module and source line that make each lost value."""
    for variable, exact in found.exact.items():
        value = _nearest(tape, exact)
        if value is not None:
            place = ", ".join(part for part in (value.place, value.line) if part)
            found.losses[variable] = found.losses[variable].model_copy(update={"module": place})


def _nearest(tape: Tape, exact: Array) -> Value | None:
    """The source's value that is closest to one of the program, whose weights are rounded to half."""
    flat = np.nan_to_num(exact.astype(np.float64).ravel())
    scale = max(float(np.abs(flat).max(initial=0.0)), 1e-30)
    best: tuple[float, Value | None] = (NEAR_ENOUGH, None)
    for value in tape.values:
        if value.line and value.array.size == exact.size:
            error = float(np.abs(np.nan_to_num(value.array.astype(np.float64).ravel()) - flat).max(initial=0.0)) / scale
            best = min(best, (error, value), key=lambda item: item[0])
    return best[1]
