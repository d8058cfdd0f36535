"""What is said about Core ML programs in words: evaluations, operators, hints and the truth from a Mac."""

from __future__ import annotations

from explorer.schemas.convert_result import EvaluateResult, HintsResult, OperatorsResult, ProveResult, UnitRun
from explorer.schemas.quantities import quantity
from screens.text import count, number

CoreMLResult = EvaluateResult | OperatorsResult | HintsResult | ProveResult


def core_ml_facts(result: CoreMLResult) -> list[tuple[str, str]]:
    """Labels and values, the figure that people look for first on top."""
    match result:
        case EvaluateResult():
            shapes = [(name, "x".join(map(str, shape)) or "scalar") for name, shape in result.outputs.items()]
            operators = f"{count(result.operators)} in {quantity(result.seconds, 's')}, {result.mode}"
            broken = [("not finite", ", ".join(loss.name for loss in result.losses))] if result.losses else []
            return [("operators", operators), *shapes, *broken]
        case OperatorsResult():
            return [("known", count(len(result.known))), ("missing", ", ".join(result.missing) or "none")]
        case HintsResult():
            return [("hints", count(len(result.hints))), *((hint.rule, hint.title) for hint in result.hints)]
        case ProveResult():
            return [
                *((unit.compute_units, _unit(unit)) for unit in result.units),
                ("ran on", f"{result.machine}, {result.system}"),
            ]


def _unit(unit: UnitRun) -> str:
    if unit.check is None:
        return unit.problem or "did not run"
    verdict = "passed" if unit.check.passed else "failed"
    speed = "" if unit.call_s is None else f", {quantity(unit.call_s, 's')} a call"
    devices = "".join(f", {name} {placed}" for name, placed in unit.operators_by_device.items())
    return f"error {number(unit.check.max_abs_error)}, {verdict}{speed}{devices}"
