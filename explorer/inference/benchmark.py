"""Compares ONNX files: bytes on disk, accuracy on held-out data, and latency against the first, interleaved in one process."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.datasets.load import read
from explorer.inference import flops, statistics, timing
from explorer.inference.candidates import Array, Candidate, batches, check_outputs, held_out_accuracy, load_candidates
from explorer.inference.findings import Findings
from explorer.inference.statistics import Samples
from explorer.models.job_files import source_data
from explorer.reporter import Reporter
from explorer.schemas.results import BenchmarkResult, Ratio, Variant
from explorer.schemas.specs import BenchmarkSpec

RUNTIME = "ONNX Runtime"
ATTEMPTS = 3
INPUT_BATCHES = 32
PROGRESS_EVERY_ROUNDS = 20


@dataclass(frozen=True)
class Measurement:
    """Seconds a call of each candidate, one row a round (rounds, candidates), and the null ratio of the same rounds."""

    seconds: Samples
    null: Ratio


def run(spec: BenchmarkSpec, report: Reporter, clock: timing.Clock = time.perf_counter) -> BenchmarkResult:
    """Time every model against the first on the same inputs; `samples` of the result is how many the accuracy was measured on.

    Raises `ExplorerError` for models that do not answer alike: other input or output shapes, NaN.
    """
    candidates = load_candidates(spec.models, spec.names, spec.threads)
    data = spec.data or source_data(spec.models[0])
    held_out = read(data).held_out if data else None
    inputs = batches(candidates[0], held_out, spec.batch_size, INPUT_BATCHES, spec.seed)
    check_outputs(candidates, inputs[0])
    accuracies = [held_out_accuracy(candidate, held_out) for candidate in candidates]
    report.log(f"{len(candidates)} models answer alike; timing {spec.rounds} rounds")
    load_average = os.getloadavg()[0]
    measured = _measure(candidates, inputs, spec, report, clock)
    findings = Findings(report)
    _say_noise(measured, load_average, findings)
    return BenchmarkResult(
        runtime=RUNTIME,
        threads=spec.threads,
        batch_size=spec.batch_size,
        rounds=spec.rounds,
        samples=len(held_out) if held_out else 0,
        load_average=load_average,
        null_ratio=measured.null,
        variants=_variants(candidates, accuracies, _operations(candidates, inputs[0], report), measured, spec.seed),
        findings=findings.found,
    )


def _measure(
    candidates: Sequence[Candidate], inputs: Sequence[Array], spec: BenchmarkSpec, report: Reporter, clock: timing.Clock
) -> Measurement:
    """The first attempt with a clean null; after three, the one whose null strays least."""
    calls = [candidate.call() for candidate in [*candidates, candidates[0].twin(spec.threads)]]
    steady = timing.warm_up(calls, inputs, spec.seed, clock)
    attempts: list[Measurement] = []
    for attempt in range(ATTEMPTS):

        def on_round(done: int, attempt: int = attempt) -> None:
            report.control()
            if done % PROGRESS_EVERY_ROUNDS == 0 or done == spec.rounds:
                report.progress(done, spec.rounds, f"attempt {attempt + 1} of at most {ATTEMPTS}", "rounds")

        seconds = timing.interleaved(
            calls, inputs, spec.rounds, timing.calls_per_sample(steady), spec.seed + attempt, on_round, clock
        )
        null = statistics.ratio_of_medians(seconds[:, 0], seconds[:, -1], spec.seed)
        attempts.append(Measurement(seconds[:, :-1], null))
        if statistics.null_is_clean(null):
            return attempts[-1]
        report.log(f"attempt {attempt + 1}: the baseline against itself is {_words(null)}", "warning")
    return min(attempts, key=lambda one: max(one.null.high, 1 / one.null.low))


def _operations(candidates: Sequence[Candidate], batch: Array, report: Reporter) -> list[int | None]:
    """Operations of one call of each candidate; what cannot be counted is logged."""
    counts = [flops.count(candidate.path, batch.shape) for candidate in candidates]
    for candidate, counted in zip(candidates, counts, strict=True):
        if counted.flops is None:
            report.log(f"{candidate.name}: operations not counted, {counted.reason}")
    return [counted.flops for counted in counts]


def _variants(
    candidates: Sequence[Candidate],
    accuracies: Sequence[float | None],
    operations: Sequence[int | None],
    measured: Measurement,
    seed: int,
) -> list[Variant]:
    baseline = measured.seconds[:, 0]
    variants = []
    for index, (candidate, accuracy, counted) in enumerate(zip(candidates, accuracies, operations, strict=True)):
        seconds = measured.seconds[:, index]
        speed = statistics.ratio_of_medians(baseline, seconds, seed)
        variants.append(
            Variant(
                name=candidate.name,
                source=candidate.source,
                bytes=candidate.bytes,
                size_ratio=candidate.bytes / candidates[0].bytes,
                accuracy=accuracy,
                p50_ms=statistics.median(seconds) * 1e3,
                p90_ms=statistics.p90(seconds * 1e3),
                flops=counted,
                speed_ratio=speed,
                verdict=statistics.verdict(speed, measured.null) if index else "baseline",
            )
        )
    return variants


def _say_noise(measured: Measurement, load_average: float, findings: Findings) -> None:
    if not statistics.null_is_clean(measured.null):
        findings.add(
            "warning",
            "too noisy for a verdict on speed",
            f"the baseline against itself is {_words(measured.null)} in the best of {ATTEMPTS} attempts, load {load_average:.1f}",
            "run again when the machine is idle",
        )


def _words(ratio: Ratio) -> str:
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
