"""Runs two models of any formats on the same inputs and says how far their outputs are apart."""

from collections.abc import Sequence

import numpy as np

from explorer.errors import ExplorerError
from explorer.inference.findings import Findings
from explorer.inference.ports import parse_shapes
from explorer.inference.runners import open_runner
from explorer.inference.verify_doubt import say_trust_in
from explorer.inference.verify_feed import Outputs, Side, Sizes, ends_with_zeros, samples, settle, stacked
from explorer.inference.verify_outputs import Partners, difference, pair_outputs, turned_back
from explorer.inference.verify_pairs import Plan, plan_inputs
from explorer.reporter import Reporter
from explorer.schemas.model_results import OutputDifference, PortInfo, VerifyResult
from explorer.schemas.model_specs import VerifySpec

LARGEST_BYTES = 4 * 2**30


def run(spec: VerifySpec, report: Reporter) -> VerifyResult:
    """Compare two models; `same` when every output has a counterpart within `spec.tolerance`.

    Outputs that a model carries on to its own next call are compared only when both have them under one name.
    Raises `ExplorerError` for models that cannot be loaded, fed alike or run.
    """
    findings, shapes = Findings(report), parse_shapes(spec.shapes)
    first = open_runner(spec.first, spec.trust, shapes)
    second = open_runner(spec.second, spec.trust, shapes)
    _check_names(shapes, {port.name for runner in (first, second) for port in runner.inputs})
    plan = plan_inputs(first, second, shapes, findings)
    sides = (Side(first, 0, plan), Side(second, 1, plan))
    sizes = settle(sides, spec.seed)
    _say_overlap(plan, findings)
    ours, theirs = _outputs(sides, sizes, spec, report)
    ours, theirs = _without_zeros(ours, theirs, spec, findings)
    theirs = turned_back(ours, theirs, [pair.order for pair in plan.pairs if pair.order], findings)
    partners = pair_outputs(*_without_states(ours, theirs, plan), findings)
    outputs = [difference(a, b, ours[a], theirs[b]) for a, b in partners.pairs]
    same = _is_same(outputs, partners, spec.tolerance)
    _explain(spec, outputs, partners, findings)
    _say_nan(ours, spec.first, findings)
    if not same:
        say_trust_in(sides[0], sizes, spec, ours, outputs, findings)
    errors = [item.max_abs_error for item in outputs]
    return VerifyResult(
        first=spec.first,
        second=spec.second,
        same=same,
        max_abs_error=None if not errors or None in errors else max(error for error in errors if error is not None),
        tolerance=spec.tolerance,
        samples=len(next(iter(ours.values()))),
        runtimes=[first.runtime, second.runtime],
        inputs=[PortInfo(name=pair.first.name, shape=list(sizes.of(pair)), dtype=pair.first.dtype) for pair in plan.pairs],
        outputs=outputs,
        findings=findings.found,
    )


def _check_names(shapes: dict[str, tuple[int, ...]], names: set[str]) -> None:
    unknown = sorted(shapes.keys() - names - {""})
    if unknown:
        raise ExplorerError(f"neither model has an input {unknown[0]}", f"they have {', '.join(sorted(names))}")


def _outputs(sides: tuple[Side, Side], sizes: Sizes, spec: VerifySpec, report: Reporter) -> tuple[Outputs, Outputs]:
    """Everything that both models gave, (samples, ...) by name."""
    gathered: tuple[list[Outputs], list[Outputs]] = ([], [])
    for done, values in enumerate(samples(sides[0].plan, sizes, spec.samples, spec.seed), 1):
        report.control()
        for side, rows in zip(sides, gathered, strict=True):
            rows.append(side.step(values))
        if done == 1:
            _check_size(gathered, spec)
        report.progress(done, spec.samples, "running both models", "samples")
    return stacked(gathered[0], spec.first), stacked(gathered[1], spec.second)


def _check_size(gathered: tuple[list[Outputs], list[Outputs]], spec: VerifySpec) -> None:
    """All outputs are held at once."""
    sample_bytes = sum(value.nbytes for rows in gathered for value in rows[0].values())
    if spec.samples * sample_bytes > LARGEST_BYTES:
        fits = max(1, LARGEST_BYTES // sample_bytes)
        raise ExplorerError(
            f"the outputs of {spec.samples} samples take {spec.samples * sample_bytes / 2**30:.1f} GiB", f"set --samples {fits}"
        )


def _without_zeros(ours: Outputs, theirs: Outputs, spec: VerifySpec, findings: Findings) -> tuple[Outputs, Outputs]:
    """Set the all-zero input aside where one model alone divides by zero on it, and say so: it is an edge, not the function."""
    if not ends_with_zeros(spec.samples):
        return ours, theirs
    lost = [any(np.isnan(value[-1]).any() for value in side.values() if value.dtype.kind == "f") for side in (ours, theirs)]
    if lost[0] == lost[1]:
        return ours, theirs
    findings.add(
        "warning",
        f"on an all-zero input only {spec.first if lost[0] else spec.second} gives NaN",
        "that input is not compared",
        "guard the division in it if silence or an empty image can occur",
    )
    return {name: value[:-1] for name, value in ours.items()}, {name: value[:-1] for name, value in theirs.items()}


def _without_states(ours: Outputs, theirs: Outputs, plan: Plan) -> tuple[Outputs, Outputs]:
    """Carried outputs drop out unless both models have them: their effect on the next call is compared."""
    carried = [set(held.values()) for held in plan.states]
    both = carried[0] & carried[1]
    return (
        {name: value for name, value in ours.items() if name not in carried[0] - both},
        {name: value for name, value in theirs.items() if name not in carried[1] - both},
    )


def _is_same(outputs: Sequence[OutputDifference], partners: Partners, tolerance: float) -> bool:
    if not outputs or partners.alone or partners.other_alone:
        return False
    return all(item.max_abs_error is not None and item.max_abs_error <= tolerance for item in outputs)


def _explain(spec: VerifySpec, outputs: Sequence[OutputDifference], partners: Partners, findings: Findings) -> None:
    """Say each reason why the models are not the same."""
    for item in outputs:
        if item.max_abs_error is None:
            findings.add("error", f"output {item.name} has another shape", f"{item.shape} and {item.other_shape}")
        elif item.max_abs_error > spec.tolerance:
            evidence = (
                f"largest difference {item.max_abs_error:.3g}, tolerance {spec.tolerance:g}, signal-to-noise {item.snr_db:.1f} dB"
            )
            findings.add("error", f"output {item.name} differs", evidence)
    for source, names in ((spec.first, partners.alone), (spec.second, partners.other_alone)):
        if names:
            findings.add("error", f"only {source} gives {', '.join(names)}", "outputs without a counterpart")


def _say_overlap(plan: Plan, findings: Findings) -> None:
    for pair in plan.pairs:
        if pair.overlap:
            port = pair.second if pair.overlap > 0 else pair.first
            title = f"{port.name} gets the last {abs(pair.overlap)} values of the call before in front"
            findings.add("info", title, "the other model keeps them by itself")


def _say_nan(outputs: Outputs, source: str, findings: Findings) -> None:
    for name, value in outputs.items():
        if value.dtype.kind == "f" and np.isnan(value).any():
            findings.add(
                "warning", f"output {name} of {source} holds NaN", f"{int(np.isnan(value).sum())} of {value.size} values"
            )
