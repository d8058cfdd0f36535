"""The proof of a conversion: every output on every feed against the source's, with tolerances that can fail the job."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from explorer.conversion.inputs import Array, Feed, Proof
from explorer.inference.coreml.evaluate import Evaluator, evaluate, first_difference
from explorer.inference.coreml.program import Program
from explorer.inference.onnx_runtime import run_named, session
from explorer.schemas.results import Check

ONNX_RUNTIME = "ONNX Runtime"
REFERENCE = "Core ML reference evaluator"
TORCH = "torch.export"
EXACT = 1e-4
SMALLEST_MAGNITUDE = 1e-2  # below it an error is judged as if the output were this large: rounding of larger values inside
HALF_SNR_DB = 30.0
HALF_AGREEMENT = 0.995
WHOLE_SHARE = {"float32": 0.999, "float16": 0.95}
Judged = Literal["float32", "float16"]


@dataclass(frozen=True)
class Compared:
    """One output over some feeds: `where` names it and its first feed."""

    where: str
    max_abs_error: float
    magnitude: float
    signal: float
    noise: float
    product: float
    power: float
    equal_share: float
    is_whole: bool
    problem: str = ""

    @property
    def relative(self) -> float:
        if self.max_abs_error == 0.0:
            return 0.0
        return self.max_abs_error / self.magnitude if self.magnitude > 0.0 else math.inf

    @property
    def snr_db(self) -> float:
        if self.noise == 0.0:
            return math.inf
        return 10.0 * math.log10(self.signal / self.noise) if self.signal > 0.0 and math.isfinite(self.noise) else -math.inf

    def passes(self, judged: Judged, agreement: float | None) -> bool:
        if self.problem:
            return False
        if self.is_whole:
            return self.equal_share >= WHOLE_SHARE[judged]
        if judged == "float32":
            return self.max_abs_error <= EXACT * max(SMALLEST_MAGNITUDE, self.magnitude)
        if agreement is not None:
            return agreement >= HALF_AGREEMENT
        return self.snr_db >= HALF_SNR_DB or self.max_abs_error <= EXACT * SMALLEST_MAGNITUDE


def onnx_check(path: Path, proof: Proof) -> Check:
    """The ONNX file in ONNX Runtime against the source."""
    runner = session(path)
    return judged(((feed, run_named(runner, feed.inputs)) for feed in proof.feeds), ONNX_RUNTIME, "float32", proof.classes)


def coreml_float32_check(program: Program, proof: Proof) -> Check:
    """A program computed in float32 throughout against the source: is the graph right?"""
    evaluator = Evaluator(program, "float32")
    return judged(((feed, _named(program, feed, evaluator)) for feed in proof.feeds), REFERENCE, "float32", proof.classes)


def coreml_float16_check(program: Program, proof: Proof) -> Check:
    """A program with every declared half rounded against the source: does the precision hold? Names what breaks when it fails."""
    evaluator = Evaluator(program, "float16")
    feeds = [feed for feed in proof.feeds if feed.origin != "mirrored" or not proof.classes]
    check = judged(((feed, _named(program, feed, evaluator)) for feed in feeds), REFERENCE, "float16", proof.classes)
    return (
        check
        if check.passed
        else check.model_copy(update={"first_difference": broken_operation(program, feeds) or check.first_difference})
    )


def broken_operation(program: Program, feeds: Sequence[Feed]) -> str:
    """The first operation that float16 breaks on any of the feeds; empty when none does."""
    found = (
        first_difference(evaluate(program, feed.inputs, "float16"), evaluate(program, feed.inputs, "float32")) for feed in feeds
    )
    return next((text for text in found if text), "")


def judged(pairs: Iterable[tuple[Feed, dict[str, Array]]], runtime: str, mode: Judged, classes: bool) -> Check:
    """One check over all outputs of all feeds. float32 is judged on each feed, float16 over all feeds together."""
    runs = list(pairs)
    samples = sum(_samples(feed) for feed, _ in runs)
    agreement = _agreement(runs) if classes else None
    compared = [_compared(feed, name, expected, got.get(name)) for feed, got in runs for name, expected in feed.expected.items()]
    units = compared if mode == "float32" else _together(compared)
    wrong = next((item for item in units if not item.passes(mode, agreement)), None)
    power = math.sqrt(sum(item.signal for item in compared)) * math.sqrt(sum(item.power for item in compared))
    cosine = sum(item.product for item in compared) / power if power > 0.0 and math.isfinite(power) else None
    return Check(
        runtime=runtime,
        mode=mode,
        samples=samples,
        max_abs_error=max((item.max_abs_error for item in compared), default=0.0),
        max_rel_error=max((item.relative for item in _together(compared)), default=0.0),
        snr_db=min((item.snr_db for item in _together(compared)), default=math.inf),
        cosine=cosine,
        agreement=agreement,
        tolerance=tolerance_words(mode, classes),
        passed=wrong is None,
        first_difference="" if wrong is None else (wrong.problem or ("" if len(compared) == 1 else f"first in {wrong.where}")),
    )


def tolerance_words(mode: Judged, classes: bool) -> str:
    """What a check must reach, as shown beside it."""
    if mode == "float32":
        return f"error <= {EXACT:g} of the largest output"
    return f"same class on >= {HALF_AGREEMENT:.1%}" if classes else f"signal-to-noise >= {HALF_SNR_DB:g} dB"


def summary(check: Check) -> str:
    """One line about a check."""
    agreement = "" if check.agreement is None else f", same class on {check.agreement:.2%}"
    verdict = "passed" if check.passed else "FAILED"
    numbers = f"max error {check.max_abs_error:.3g}, SNR {check.snr_db:.1f} dB{agreement}"
    return f"{check.runtime} {check.mode}, {check.samples} samples: {numbers} ({check.tolerance}): {verdict}"


def _named(program: Program, feed: Feed, evaluator: Evaluator) -> dict[str, Array]:
    """A program's outputs by the source's names; a classifier's probabilities stand for its scores."""
    outputs = evaluator.run(feed.inputs).outputs
    if not program.classes:
        return outputs
    name, expected = next(iter(feed.expected.items()))
    scores = next((value for value in outputs.values() if value.dtype.kind == "f"), np.zeros(0))
    return {**outputs, name: scores.reshape(expected.shape) if scores.size == expected.size else scores}


def _compared(feed: Feed, name: str, expected: Array, got: Array | None) -> Compared:
    where = f"{name} on {feed.origin}"
    if got is not None and expected.ndim == 0 and got.size == 1:
        got = got.reshape(())
    if got is None or got.shape != expected.shape:
        given = "nothing" if got is None else f"shape {got.shape}"
        return Compared(
            where,
            math.inf,
            1.0,
            1.0,
            math.inf,
            0.0,
            1.0,
            0.0,
            False,
            f"{given} where the source gives {expected.shape} for {where}",
        )
    whole = expected.dtype.kind in "iub"
    left, right = expected.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(left)
    problem = "" if _same_gaps(left, right, finite) else _not_finite(left, right, where)
    left, right = left[finite], right[finite]
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(left - right)
        return Compared(
            where,
            float(np.nan_to_num(error, nan=math.inf).max(initial=0.0)),
            float(np.abs(left).max(initial=0.0)),
            float(np.square(left).sum()),
            float(np.nan_to_num(np.square(error), nan=math.inf).sum()),
            float(np.nan_to_num(left * right).sum()),
            float(np.nan_to_num(np.square(right)).sum()),
            float((left == right).mean()) if left.size else 1.0,
            whole,
            problem,
        )


def _same_gaps(left: Array, right: Array, finite: Array) -> bool:
    """Whether NaN and infinities stand at the same places on both sides."""
    return bool(np.array_equal(finite, np.isfinite(right)) and np.array_equal(left[~finite], right[~finite], equal_nan=True))


def _together(items: Sequence[Compared]) -> list[Compared]:
    """One for each output, over all feeds."""
    groups: dict[str, list[Compared]] = {}
    for item in items:
        groups.setdefault(item.where.split(" on ")[0], []).append(item)
    return [_summed(group) for group in groups.values()]


def _summed(group: Sequence[Compared]) -> Compared:
    return Compared(
        group[0].where,
        max(item.max_abs_error for item in group),
        max(item.magnitude for item in group),
        sum(item.signal for item in group),
        sum(item.noise for item in group),
        sum(item.product for item in group),
        sum(item.power for item in group),
        sum(item.equal_share for item in group) / len(group),
        group[0].is_whole,
        next((item.problem for item in group if item.problem), ""),
    )


def _not_finite(expected: Array, got: Array, where: str) -> str:
    side, values = ("result", got) if not np.isfinite(got).all() else ("source", expected)
    counts = f"{int(np.isnan(values).sum())} NaN and {int(np.isinf(values).sum())} infinite values"
    return f"the {side} holds {counts} in {where}"


def _agreement(runs: Sequence[tuple[Feed, dict[str, Array]]]) -> float:
    same = []
    for feed, got in runs:
        name, expected = next(iter(feed.expected.items()))
        if feed.origin != "mirrored" and name in got and got[name].shape == expected.shape:
            same.append(expected.argmax(-1) == got[name].argmax(-1))
    return float(np.concatenate(same).mean()) if same else 0.0


def _samples(feed: Feed) -> int:
    first = next(iter(feed.inputs.values()), np.zeros(1))
    return len(first) if first.ndim else 1
