"""Which inputs of two models belong together: settings and carried states aside, by name, else by order and shape."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from explorer.errors import ExplorerError
from explorer.inference.findings import Findings
from explorer.inference.ports import OpenShape, Port, Runner, Shape

# Scalars that set a model up rather than carry data, with a value that models of the field take.
SETTINGS = {"sr": 16_000, "sample_rate": 16_000, "sampling_rate": 16_000}
# What a carried state is called; an image and an image_out of its size are no state.
STATE = re.compile(r"state|hidden|cell|mem|cache|past|prev|rnn|lstm|gru|context|(^|[_.])[hc]x?(\d|[_.]|in|$)")
Order = tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """One input of each model that get the same values; `order` permutes the axes of the first into those of the second.

    `sizes` are of the first's axes, None where neither model says. `overlap` is how many values more the second takes on
    its last axis (below 0: the first), which are the end of the call before.
    """

    first: Port
    second: Port
    sizes: OpenShape
    order: Order | None = None
    overlap: int = 0


@dataclass(frozen=True)
class Plan:
    """How two models are fed: pairs, settings by name, and for each model its state inputs with the outputs that refill them."""

    pairs: list[Pair]
    settings: dict[str, int | float]
    states: tuple[dict[str, str], dict[str, str]]


def plan_inputs(first: Runner, second: Runner, shapes: Mapping[str, Shape], findings: Findings) -> Plan:
    """Lay the inputs of two models against each other.

    Raises `ExplorerError` when one takes inputs that the other has no counterpart for, or of sizes that exclude each other.
    """
    runners = (first, second)
    states = _states(*runners)
    settings = _settings(runners, shapes)
    data = [
        [port for port in runner.inputs if port.name not in settings and port.name not in held]
        for runner, held in zip(runners, states, strict=True)
    ]
    pairs = [
        _pair(one, other, index == 0, runners, states, shapes, findings)
        for index, (one, other) in enumerate(_partners(data[0], data[1], runners))
    ]
    _say(settings, states, runners, findings)
    return Plan(pairs, settings, states)


def _states(first: Runner, second: Runner) -> tuple[dict[str, str], dict[str, str]]:
    """State inputs with their outputs; what the other model takes as plain data under the same name is data here too."""
    found = (recurrent(first), recurrent(second))
    plain = [{port.name for port in runner.inputs} - held.keys() for runner, held in zip((first, second), found, strict=True)]
    return (
        {name: output for name, output in found[0].items() if name not in plain[1]},
        {name: output for name, output in found[1].items() if name not in plain[0]},
    )


def recurrent(runner: Runner) -> dict[str, str]:
    """Input names whose next value an output holds: `state` and `stateN`, `h0` and `hn`, `state_in` and `state_out`."""
    found: dict[str, str] = {}
    for port in runner.inputs:
        if not STATE.search(port.name.lower()) or len(found) == len(runner.inputs) - 1:
            continue
        forms = _next_names(port.name.lower())
        for output, shape in runner.outputs.items():
            if output.lower() in forms and port.shape and _compatible(port.shape, shape):
                found[port.name] = output
    return found


def _next_names(name: str) -> set[str]:
    forms = {f"{name}{end}" for end in ("n", "_n", "_out", "out", "_new", "_next", "_output")}
    forms |= {f"{start}{name}" for start in ("new_", "next_", "out_")}
    forms |= {name.replace("past", "present"), re.sub(r"_?in(put)?$", "_out", name), re.sub(r"0$", "n", name)}
    return forms - {name}


def _settings(runners: Sequence[Runner], shapes: Mapping[str, Shape]) -> dict[str, int | float]:
    """Values of scalar inputs by name: as given (sr=8000), from an example, or the usual one."""
    settings: dict[str, int | float] = {}
    for port in itertools.chain(*(runner.inputs for runner in runners)):
        if not port.is_scalar and port.name.lower() not in SETTINGS:
            continue
        given = shapes.get(port.name)
        if given:
            settings[port.name] = given[0]
        elif port.example is not None and port.example.size:
            settings.setdefault(port.name, port.example.reshape(-1)[0].item())
        else:
            settings.setdefault(port.name, SETTINGS.get(port.name.lower(), 1))
    return settings


def _partners(first: list[Port], second: list[Port], runners: Sequence[Runner]) -> list[tuple[Port, Port]]:
    named = {_plain(port.name): port for port in second}
    partners = {port.name: named.pop(_plain(port.name)) for port in first if _plain(port.name) in named}
    rest = [port for port in second if port not in partners.values()]
    alone = [port for port in first if port.name not in partners]
    if len(rest) != len(alone):
        ours, theirs = (", ".join(port.words() for port in ports) or "nothing" for ports in (first, second))
        raise ExplorerError(
            f"{runners[0].source} takes {ours}; {runners[1].source} takes {theirs}", "compare models with the same inputs"
        )
    partners |= {one.name: other for one, other in zip(alone, rest, strict=True)}
    return [(port, partners[port.name]) for port in first]


def _plain(name: str) -> str:
    """A name without what exporters add: serving_default_input_2:0 is input_2."""
    return re.sub(r":\d+$", "", name.lower().removeprefix("serving_default_"))


def _pair(
    first: Port,
    second: Port,
    leads: bool,
    runners: Sequence[Runner],
    states: tuple[dict[str, str], dict[str, str]],
    shapes: Mapping[str, Shape],
    findings: Findings,
) -> Pair:
    """One pair with its sizes; `leads` when a shape without a name means it."""
    given = shapes.get(first.name, shapes.get("") if leads else None)
    ours: OpenShape | None = given or first.shape
    theirs: OpenShape | None = shapes.get(second.name) if second.name != first.name else None
    theirs = theirs or second.shape
    if ours is None:
        ours = (None,) * len(theirs) if theirs is not None else (None, None)
    if theirs is None:
        theirs = (None,) * len(ours)
    overlap = _overlap(ours, theirs, runners, states)
    order = None if overlap else _order(ours, theirs) or _example_order(first, second, ours, theirs)
    if not overlap and not _fits(ours, theirs, order):
        one, other = (Port(port.name, port.dtype, shape).words() for port, shape in ((first, ours), (second, theirs)))
        raise ExplorerError(
            f"{runners[0].source} takes {one}; {runners[1].source} takes {other}", "compare models with the same inputs"
        )
    if order is not None:
        findings.add(
            "info",
            f"the axes of {first.name} are permuted for {second.name}",
            f"first {_words(ours)}, second {_words(theirs)}, order {order}",
        )
    return Pair(first, second, _sizes(first, second, ours, theirs, order, overlap), order, overlap)


def _overlap(ours: OpenShape, theirs: OpenShape, runners: Sequence[Runner], states: tuple[dict[str, str], dict[str, str]]) -> int:
    """How much longer the second's last axis is, where one model keeps the end of the call before by itself."""
    if len(ours) != len(theirs) or not ours:
        return 0
    for sign, runner, other_states in ((1, runners[0], states[1]), (-1, runners[1], states[0])):
        if not other_states or not runner.context:
            continue
        kept, full = (ours[-1], theirs[-1]) if sign == 1 else (theirs[-1], ours[-1])
        if not (isinstance(kept, int) and isinstance(full, int)) or full - kept == runner.context:
            return sign * runner.context
    return 0


def _order(ours: OpenShape, theirs: OpenShape) -> Order | None:
    """The permutation that makes the first's axes the second's; None when they fit as they are, or in no order."""
    rank = len(ours)
    if rank != len(theirs) or rank < 3 or _fits(ours, theirs, None):
        return None
    orders = (*_channel_moves(rank), *itertools.permutations(range(rank)))
    return next((order for order in orders if _fits(ours, theirs, order)), None)


def _channel_moves(rank: int) -> list[Order]:
    """Channels from last to first, and back."""
    return [(0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)]


def _example_order(first: Port, second: Port, ours: OpenShape, theirs: OpenShape) -> Order | None:
    """Where one side is open but for its example: the move of the channels axis that the example asks for."""
    examples = [port.default if port.default and not any(shape) else None for port, shape in ((first, ours), (second, theirs))]
    one, other = examples[0] or ours, examples[1] or theirs
    if not any(examples) or len(one) != len(other) or len(one) < 3 or _fits((None, *one[1:]), other, None):
        return None
    return next((order for order in _channel_moves(len(one)) if _fits((None, *one[1:]), other, order)), None)


def _fits(ours: OpenShape, theirs: OpenShape, order: Order | None) -> bool:
    return _compatible(tuple(ours[axis] for axis in order) if order else ours, theirs)


def _compatible(one: OpenShape, other: OpenShape | None) -> bool:
    if other is None:
        return True
    return len(one) == len(other) and all(
        not isinstance(a, int) or not isinstance(b, int) or a == b for a, b in zip(one, other, strict=True)
    )


def _sizes(first: Port, second: Port, ours: OpenShape, theirs: OpenShape, order: Order | None, overlap: int) -> OpenShape:
    """The first's sizes, open ones from the second, then from what either is known to work with; without what overlaps."""
    inverse = order or tuple(range(len(ours)))
    sizes: list[int | str | None] = [None] * len(ours)
    for shape, is_first in ((ours, True), (theirs, False), (first.default, True), (second.default, False)):
        if shape is None or len(shape) != len(sizes):
            continue
        longer = max(0, -overlap if is_first else overlap)
        for position, axis in enumerate(inverse):
            size = shape[axis] if is_first else shape[position]
            if sizes[axis] is None and isinstance(size, int):
                sizes[axis] = size - longer if axis == len(sizes) - 1 else size
    return tuple(sizes)


def _say(
    settings: Mapping[str, int | float],
    states: tuple[dict[str, str], dict[str, str]],
    runners: Sequence[Runner],
    findings: Findings,
) -> None:
    for name, value in settings.items():
        findings.add("info", f"{name} is set to {value}", "a scalar input", f"give {name}=N for another value")
    for runner, held in zip(runners, states, strict=True):
        for name, output in held.items():
            findings.add("info", f"{output} of {runner.source} is carried on to {name}", "it starts at zero")


def _words(shape: OpenShape) -> str:
    return "x".join(str(size) if isinstance(size, int) else "?" for size in shape)
