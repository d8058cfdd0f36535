"""Is an output the same as the source's? Error, signal-to-noise ratio and agreement of classes against stated tolerances."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.schemas.results import Check

Array = NDArray[Any]


@dataclass(frozen=True)
class Tolerance:
    """What a comparison must reach; a limit that is None is not asked for.

    `max_abs_error` is scaled by the reference's largest magnitude where that is above 1: large outputs are judged relatively.
    """

    max_abs_error: float | None = None
    min_agreement: float | None = None
    min_snr_db: float | None = None

    def words(self) -> str:
        """The tolerance as shown beside a check."""
        parts = []
        if self.max_abs_error is not None:
            parts.append(f"error <= {self.max_abs_error:g} of max(1, largest output)")
        if self.min_agreement is not None:
            parts.append(f"same class on >= {self.min_agreement:.1%}")
        if self.min_snr_db is not None:
            parts.append(f"signal-to-noise >= {self.min_snr_db:g} dB")
        return ", ".join(parts)


def compare(reference: Array, candidate: Array, *, runtime: str, mode: str, tolerance: Tolerance, classes: bool = False) -> Check:
    """Compare `candidate` with `reference`, both (samples, ...); with `classes` the last axis holds a score for each class.

    The relative error is the largest absolute error over the reference's largest magnitude; SNR is
    10 log10(sum reference^2 / sum error^2). Different shapes, a NaN or an infinity on either side never pass.
    """
    samples = len(reference) if reference.ndim else 1
    if reference.shape != candidate.shape:
        difference = f"shape {candidate.shape} where the source gives {reference.shape}"
        return _check(
            runtime, mode, samples, tolerance, math.inf, math.inf, -math.inf, 0.0 if classes else None, False, difference
        )
    expected, got = reference.astype(np.float64), candidate.astype(np.float64)
    finite = bool(np.isfinite(expected).all() and np.isfinite(got).all())
    error, magnitude = _max_error(expected, got), float(np.abs(expected).max(initial=0.0))
    snr = snr_db(expected, got)
    agreement = float((expected.argmax(-1) == got.argmax(-1)).mean()) if classes and expected.size else None
    passed = finite and _within(tolerance, error, magnitude, snr, agreement)
    difference = "" if finite else _not_finite(expected, got)
    return _check(runtime, mode, samples, tolerance, error, _relative(error, magnitude), snr, agreement, passed, difference)


def snr_db(reference: Array, candidate: Array) -> float:
    """Signal-to-noise ratio in dB: infinity for equal arrays, minus infinity when the error is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        noise = float(np.square(reference.astype(np.float64) - candidate.astype(np.float64)).sum())
        signal = float(np.square(reference.astype(np.float64)).sum())
    if noise == 0.0:
        return math.inf
    if not math.isfinite(noise) or signal == 0.0:
        return -math.inf
    return 10.0 * math.log10(signal / noise)


def _within(tolerance: Tolerance, error: float, magnitude: float, snr: float, agreement: float | None) -> bool:
    if tolerance.max_abs_error is not None and not error <= tolerance.max_abs_error * max(1.0, magnitude):
        return False
    if tolerance.min_agreement is not None and (agreement is None or agreement < tolerance.min_agreement):
        return False
    return tolerance.min_snr_db is None or snr >= tolerance.min_snr_db


def _max_error(expected: NDArray[np.float64], got: NDArray[np.float64]) -> float:
    with np.errstate(invalid="ignore"):
        error = np.abs(expected - got)
    return float(error.max(initial=0.0))


def _relative(error: float, magnitude: float) -> float:
    if magnitude > 0.0:
        return error / magnitude
    return 0.0 if error == 0.0 else math.inf


def _not_finite(expected: NDArray[np.float64], got: NDArray[np.float64]) -> str:
    side, values = ("source", expected) if not np.isfinite(expected).all() else ("result", got)
    return f"the {side} holds {int(np.isnan(values).sum())} NaN and {int(np.isinf(values).sum())} infinite values"


def _check(
    runtime: str,
    mode: str,
    samples: int,
    tolerance: Tolerance,
    error: float,
    relative: float,
    snr: float,
    agreement: float | None,
    passed: bool,
    difference: str,
) -> Check:
    return Check(
        runtime=runtime,
        mode=mode,
        samples=samples,
        max_abs_error=error,
        max_rel_error=relative,
        snr_db=snr,
        agreement=agreement,
        tolerance=tolerance.words(),
        passed=passed,
        first_difference=difference,
    )
