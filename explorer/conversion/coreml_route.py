"""A Core ML package by the first way that both converts and passes its proof."""

import dataclasses
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from explorer.conversion.core_types import check_declared
from explorer.conversion.declared import ImageOptions
from explorer.conversion.flat import Adapter
from explorer.conversion.half import losses
from explorer.conversion.half_repair import repaired
from explorer.conversion.inputs import Array, Feed, Proof
from explorer.conversion.ladder import Ladder, Made
from explorer.conversion.ports import MAX_BATCH, Traced
from explorer.conversion.proof import coreml_float16_check, coreml_float32_check, summary
from explorer.conversion.to_coreml import CAPTURES, Capture, Way, capture, convert, prepared
from explorer.errors import ExplorerError
from explorer.files import remove
from explorer.inference.coreml.program import Program, load_program
from explorer.inference.neural_engine.hints import hints
from explorer.schemas.convert_result import Check, PrecisionLoss

SECOND_WAY_SECONDS = 4.0
SLOW_CALL_SECONDS = 0.5


@dataclass(frozen=True)
class Converted:
    """A graph with its program in float32, and the check of that."""

    graph: Any
    traced: Traced
    program: Program
    check: Check
    seconds: float
    check_seconds: float


def proven_coreml(ladder: Ladder) -> Made:
    """Write the package and give its checks: float32 of the graph, and float16 of the package when that is asked.

    Raises `ExplorerError` naming the operator or the failed check when no way works.
    """
    scores = next(iter(ladder.proof.feeds[0].expected.values()))
    check_declared(ladder.spec, ladder.traced, scores.shape[-1] if scores.ndim == 2 else None)
    hopeless: set[Capture] = set()
    for variant in ladder.variants():
        traced = prepared(variant)
        module, lines = ladder.rewritten(traced.module, traced, "coreml")
        for way in (Way(item, traced, ladder.spec.rewrites) for item in CAPTURES if item not in hopeless):
            found = _tried(ladder, module, way, hopeless)
            if found is not None:
                ladder.say_batch(traced, MAX_BATCH)
                _compare_second(ladder, module, way, found)
                return _finished(ladder, found, lines)
    raise ladder.failures.error()


def _tried(ladder: Ladder, module: nn.Module, way: Way, hopeless: set[Capture]) -> Converted | None:
    """One way to its float32 check; None when it breaks or differs, which is kept."""
    started = time.monotonic()
    kept = ladder.spec.precision == "float16"
    proof = _graph_proof(ladder, way.traced, kept)
    try:
        with ladder.route.step(str(way)):
            graph = capture(module, way)
        with ladder.route.step(f"convert in {ladder.spec.precision}"):
            program = _converted(ladder, graph, way.traced, tuple(ladder.spec.keep_float32))
        seconds = time.monotonic() - started
        with ladder.route.step("check in float32"):
            check = coreml_float32_check(program, proof)
    except Exception as error:
        remove(ladder.path)
        if ladder.failures.broke(str(way), error).lacks_rule:
            hopeless.add(way.capture)
        return None
    took = time.monotonic() - started - seconds
    details: dict[str, str] = {}
    if not check.passed:
        check, details = ladder.located(check, program, proof, (way.traced if kept else ladder.traced).module)
        remove(ladder.path)
    return Converted(graph, way.traced, program, check, seconds, took) if ladder.failures.passed(check, details) else None


def _converted(ladder: Ladder, graph: Any, traced: Traced, keep: tuple[str, ...]) -> Program:
    """Write the package; the program that its float32 check runs on."""
    spec = ladder.spec
    kept = convert(graph, traced, spec.precision, ladder.path, spec, ladder.route.say, keep)
    return kept if kept is not None and spec.precision == "float16" else load_program(ladder.path)


def _graph_proof(ladder: Ladder, traced: Traced, kept: bool) -> Proof:
    """The feeds as a program takes them: one kept before it was written lacks Core ML's own scaling of pixels."""
    proof = ladder.proof_of(traced)
    images = {port.name: port.image for port in traced.inputs if port.image is not None and port.image.is_scalar}
    if not kept or not images:
        return proof
    return dataclasses.replace(proof, feeds=[dataclasses.replace(feed, inputs=_scaled(feed, images)) for feed in proof.feeds])


def _scaled(feed: Feed, images: dict[str, ImageOptions]) -> dict[str, Array]:
    return {
        name: Adapter(image=images[name]).apply(torch.from_numpy(value)).numpy() if name in images else value
        for name, value in feed.inputs.items()
    }


def _finished(ladder: Ladder, found: Converted, lines: list[str]) -> Made:
    """The half-precision check, with repairs where they are asked for; then hints."""
    checks = [found.check]
    broken: list[PrecisionLoss] = []
    program = found.program
    if ladder.spec.precision == "float16":
        check, broken, program = _half(ladder, found)
        checks.append(check)
    return Made([ladder.path], checks, ladder.port_words(found.traced), lines, _hints(ladder, program), broken)


def _half(ladder: Ladder, found: Converted) -> tuple[Check, list[PrecisionLoss], Program]:
    """Check the package in float16; what breaks is kept in float32 and proven again when that is asked for."""
    proof = _for_half(ladder, found)
    with ladder.route.step("check in float16"):
        program = load_program(ladder.path)
        check = coreml_float16_check(program, proof)
    if ladder.failures.passed(check):
        return check, [], program
    broken = losses(program, _few(proof), found.traced.module, ladder.traced.original)
    if not ladder.spec.repair_float16:
        raise _half_error(ladder, check, broken)
    with ladder.route.step("repair float16"):
        program = _repaired(ladder, found, proof)
    with ladder.route.step("check in float16 again"):
        check = coreml_float16_check(program, proof)
    if not ladder.failures.passed(check):
        raise _half_error(ladder, check, losses(program, _few(proof), found.traced.module, ladder.traced.original))
    return check, broken, program


def _repaired(ladder: Ladder, found: Converted, proof: Proof) -> Program:
    """The package written again with what breaks kept in float32."""

    def again(keep: list[str]) -> Path:
        remove(ladder.path)
        _converted(ladder, found.graph, found.traced, tuple(keep))
        return ladder.path

    repair = repaired(ladder.spec.keep_float32, again, _few(proof), found.traced.module, ladder.traced.original)
    kept = [name for name in repair.keep_float32 if name not in ladder.spec.keep_float32]
    ladder.route.find(
        "info", f"{len(kept)} operators stay in float32", ", ".join(kept[:8]), "keep_float32 with these names repeats it"
    )
    return load_program(ladder.path)


def _for_half(ladder: Ladder, found: Converted) -> Proof:
    """The feeds of the float16 check: two of them where one call takes seconds, as precision is alike on all."""
    proof = ladder.proof_of(found.traced)
    slow = found.check_seconds / len(proof.feeds) > SLOW_CALL_SECONDS
    return dataclasses.replace(proof, feeds=proof.feeds[:2]) if slow and not ladder.spec.state else proof


def _half_error(ladder: Ladder, check: Check, broken: list[PrecisionLoss]) -> ExplorerError:
    ladder.route.losses[:] = broken
    for item in broken[:8]:
        ladder.report.log(
            f"{item.name} ({item.operator}): {item.problem} in float16, largest {item.largest:.3g}; {item.remedy}", "warning"
        )
    first = check.first_difference or (f"{broken[0].name} ({broken[0].operator}): {broken[0].problem}" if broken else "")
    evidence = f"{first}; {summary(check)}" if first else summary(check)
    remedy = "convert with repair_float16 or precision float32"
    ladder.route.find("error", "The model does not hold in float16", evidence, remedy)
    message = f"{ladder.spec.source} fails its float16 check: {first or summary(check)}"
    details = {"reason": message, "operator": broken[0].operator, "module": broken[0].module} if broken else {"reason": message}
    return ExplorerError(message, remedy, details)


def _few(proof: Proof) -> list[Feed]:
    kinds: dict[str, Feed] = {}
    for feed in proof.feeds:
        kinds.setdefault(feed.origin, feed)
    return list(kinds.values())[:4]


def _hints(ladder: Ladder, program: Program) -> list[Any]:
    with ladder.route.step("hints"):
        return list(hints(program, ladder.spec))


def _compare_second(ladder: Ladder, module: nn.Module, way: Way, found: Converted) -> None:
    """The other way to capture, where it is quick: its program must compute the same."""
    other = next(item for item in CAPTURES if item != way.capture)
    if found.seconds > SECOND_WAY_SECONDS:
        ladder.report.log(f"{other} was left out: the conversion takes {found.seconds:.0f} s, and the first result is proven")
        return
    if any(str(Way(other, way.traced)) in step for step in ladder.route.steps):
        return
    second = Way(other, way.traced, way.with_rules)
    try:
        with ladder.route.step(f"compare with {other}"):
            program = convert(capture(module, second), way.traced, "float32", None, ladder.spec, ladder.route.say)
    except Exception as error:
        ladder.report.log(
            f"{second}: {str(error).splitlines()[0][:200] if str(error) else type(error).__name__}; {way.capture} is used"
        )
        return
    if program is None or _operators(program) == _operators(found.program):
        ladder.report.log(f"{other} gives the same operators")
        return
    _judge_second(ladder, second, program, found)


def _judge_second(ladder: Ladder, second: Way, program: Program, found: Converted) -> None:
    """Two programs of other operators: their outputs are compared."""
    try:
        check = coreml_float32_check(program, _graph_proof(ladder, found.traced, kept=True))
    except ExplorerError as error:
        ladder.report.log(f"{second}: {error.message}")
        return
    if check.passed:
        ladder.report.log(f"{second.capture} gives other operators with the same outputs")
    else:
        title = f"{second.capture} converts this model wrongly"
        ladder.route.find("info", title, summary(check), "the result is from the other way, which is proven")


def _operators(program: Program) -> Counter[str]:
    return Counter(step.op_type for step in program.steps())
