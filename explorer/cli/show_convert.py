"""Conversions, their proof and what is said about Core ML programs, as a few lines of plain text."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from explorer.cli.table import table
from explorer.schemas.convert_result import (
    Check,
    ConvertResult,
    EvaluateResult,
    Hint,
    HintsResult,
    OperatorsResult,
    PrecisionLoss,
    ProveResult,
    UnitRun,
)
from explorer.schemas.quantities import quantity

HINTS_ARE_NOT_TRUTH = "hints from published rules, not a measurement: only `explorer prove` on a Mac says where Core ML runs it"
SHOWN_LOSSES = 8


def convert_lines(result: ConvertResult, output: Path) -> list[str]:
    """Where the result lies, the way there, its proof, and what float16 breaks."""
    return [
        f"{output}  {result.bytes:,} bytes",
        *(f"port   {port}" for port in result.ports),
        "route  " + " > ".join(result.route),
        *(f"replaced  {text}" for text in result.rewrites),
        *map(check_line, result.checks),
        *loss_lines(result.losses),
        *_hint_count(result),
    ]


def check_line(check: Check) -> str:
    """One check with its verdict; the first value that differs stands behind it."""
    agreement = "" if check.agreement is None else f", same class on {check.agreement:.1%}"
    verdict = "passed" if check.passed else "failed"
    difference = f"; first difference {check.first_difference}" if check.first_difference else ""
    return (
        f"{check.runtime} {check.mode}: max error {check.max_abs_error:.1e}, SNR {check.snr_db:.0f} dB{agreement} "
        f"on {check.samples} inputs: {verdict} ({check.tolerance}){difference}"
    )


def evaluate_lines(result: EvaluateResult) -> list[str]:
    """The outputs with their shapes, where they were written, and values that are not finite."""
    head = f"{result.operators:,} operators in {quantity(result.seconds, 's')}, {result.mode}, by the reference evaluator"
    outputs = [f"output  {name}  {'x'.join(map(str, shape)) or 'scalar'}" for name, shape in result.outputs.items()]
    return [head, *outputs, *([f"written {result.output}"] if result.output else []), *loss_lines(result.losses)]


def operators_lines(result: OperatorsResult) -> list[str]:
    """Those without a rule first: the list that should shrink."""
    total = len(result.known) + len(result.missing)
    where = result.package or "coremltools' registry"
    missing = ", ".join(result.missing) if result.missing else "none"
    return [f"{len(result.known)} of the {total} operators of {where} are known", f"missing  {missing}"] + [
        f"known    {', '.join(result.known)}"
    ] * bool(result.known)


def hints_lines(result: HintsResult) -> list[str]:
    """Every hint with its operators, its remedy and its source."""
    if not result.hints:
        return [f"no rule speaks against any of the {result.operators:,} operators", HINTS_ARE_NOT_TRUTH]
    return [line for hint in result.hints for line in hint_lines(hint)] + [HINTS_ARE_NOT_TRUTH]


def hint_lines(hint: Hint) -> list[str]:
    """One hint: what, where, what to do, and who says so."""
    details = [hint.where, hint.remedy and f"→ {hint.remedy}", f"{hint.source}, {hint.date}"]
    return [f"hint: {hint.title}", *(f"  {text}" for text in details if text)]


def prove_lines(result: ProveResult) -> list[str]:
    """A row for each compute unit under the machine that ran it."""
    head = ["compute units", "verdict", "max error", "SNR", "load", "call", "operators by device"]
    rows = table([head, *map(_unit, result.units)], right=(2, 3, 4, 5))
    problems = [f"{unit.compute_units}: {unit.problem}" for unit in result.units if unit.problem]
    return [f"{result.machine}, {result.system}", *rows, *problems]


def truth_lines(job: Path) -> list[str]:
    """What a Mac said of a job's conversion; empty when none was asked."""
    try:
        result = ProveResult.model_validate_json((job / "artifacts" / "prove.json").read_bytes())
    except (OSError, ValidationError):
        return []
    return ["", *prove_lines(result)]


def loss_lines(losses: Sequence[PrecisionLoss]) -> list[str]:
    """What half precision breaks, the first value first."""
    lines = [_loss(loss) for loss in losses[:SHOWN_LOSSES]]
    return [*lines, f"... and {len(losses) - SHOWN_LOSSES} more"] if len(losses) > SHOWN_LOSSES else lines


def _loss(loss: PrecisionLoss) -> str:
    module = f" of {loss.module}" if loss.module else ""
    snr = "" if loss.snr_db is None else f", SNR {loss.snr_db:.0f} dB"
    remedy = f": {loss.remedy}" if loss.remedy else ""
    return f"{loss.problem}  {loss.name} ({loss.operator}{module}), largest {loss.largest:.3g}{snr}{remedy}"


def _hint_count(result: ConvertResult) -> list[str]:
    count = len(result.hints)
    return [f"{count} Neural Engine hint{'s' if count > 1 else ''}: `explorer hints PACKAGE` shows them"] if count else []


def _unit(unit: UnitRun) -> list[str]:
    check = unit.check
    devices = ", ".join(f"{name} {count}" for name, count in unit.operators_by_device.items()) or "–"
    return [
        unit.compute_units,
        "problem" if check is None else "passed" if check.passed else "failed",
        "–" if check is None else f"{check.max_abs_error:.1e}",
        "–" if check is None else f"{check.snr_db:.0f} dB",
        "–" if unit.load_s is None else quantity(unit.load_s, "s"),
        "–" if unit.call_s is None else quantity(unit.call_s, "s"),
        devices,
    ]
