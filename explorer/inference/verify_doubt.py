"""How far a model can be the measure of another: does it repeat itself, and what does mere rounding do to it?"""

from collections.abc import Sequence

import numpy as np

from explorer.inference.findings import Findings
from explorer.inference.ports import Array
from explorer.inference.verify_feed import Outputs, Side, Sizes, Values, samples, stacked
from explorer.inference.verify_outputs import difference
from explorer.schemas.model_results import OutputDifference
from explorer.schemas.model_specs import VerifySpec

# Runtimes order sums differently, which moves a result by several roundings of its inputs.
ROUNDINGS = 8.0


def say_trust_in(
    side: Side, sizes: Sizes, spec: VerifySpec, before: Outputs, outputs: Sequence[OutputDifference], findings: Findings
) -> None:
    """Findings on the first model after a difference: it is random, or as ill-conditioned as the difference is large."""
    drawn = list(samples(side.plan, sizes, spec.samples, spec.seed))[: len(next(iter(before.values())))]
    again = _worst(before, _run(side, drawn, spec.first))
    if again > spec.tolerance:
        title = f"{spec.first} answers differently to the same inputs"
        findings.add("warning", title, f"by up to {again:.3g}", "remove what is random in it")
        return
    generator = np.random.default_rng(spec.seed)
    moved = _worst(before, _run(side, [[_rounded(value, generator) for value in values] for values in drawn], spec.first))
    errors = [item.max_abs_error for item in outputs]
    largest = max((error for error in errors if error is not None), default=0.0)
    if None not in errors and largest <= ROUNDINGS * moved:
        findings.add(
            "info",
            f"the difference is of the size of rounding in {spec.first}",
            f"one rounding of its inputs moves its outputs by {moved:.3g}; the models are {largest:.3g} apart",
            "judge by the signal-to-noise ratio, or set the tolerance higher",
        )


def _run(side: Side, drawn: Sequence[Values], source: str) -> Outputs:
    side.fresh()
    return stacked([side.step(values) for values in drawn], source)


def _worst(before: Outputs, after: Outputs) -> float:
    errors = [difference(name, name, before[name], after[name]).max_abs_error for name in before]
    return max((error for error in errors if error is not None), default=0.0)


def _rounded(value: Array, generator: np.random.Generator) -> Array:
    """Each float moved to one of its two neighbours in float32, at random."""
    if value.dtype.kind != "f":
        return value
    ends = np.where(generator.random(value.shape) < 0.5, -np.inf, np.inf).astype(np.float32)
    moved: Array = np.nextafter(value.astype(np.float32), ends)
    return moved
