"""Results about model files in words: labels and values, the figure that people look for first on top."""

from __future__ import annotations

from explorer.schemas.model_results import (
    DiffResult,
    GraphResult,
    InspectResult,
    LayersResult,
    MatchResult,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.quantities import quantity
from screens.text import NONE, bytes_, count, duration, number

ModelResult = InspectResult | ValuesResult | DiffResult | VerifyResult | MatchResult | LayersResult | GraphResult


def model_facts(result: ModelResult) -> list[tuple[str, str]]:
    """Labels and values of what was found out about model files."""
    match result:
        case InspectResult():
            return [("format", result.format_name), ("parameters", count(result.parameters)), ("bytes", bytes_(result.bytes))]
        case ValuesResult():
            bad = sum(1 for item in result.tensors if item.nans or item.infinities)
            swept = ("read", f"{count(result.checked)} tensors, {bytes_(result.bytes)} in {duration(result.seconds)}")
            return [("not finite", f"{count(bad)} tensors" if bad else "none"), swept]
        case DiffResult():
            moved = f"{count(len(result.added))} added, {count(len(result.removed))} removed"
            changes = f"{count(len(result.changed))} in value, {count(len(result.reshaped))} in shape"
            return [("changed", changes), ("tensors", moved), ("the same", count(result.same))]
        case VerifyResult():
            error = NONE if result.max_abs_error is None else number(result.max_abs_error)
            return [
                ("verdict", "the same" if result.same else "different"),
                ("max error", f"{error}, tolerance {number(result.tolerance)}"),
                ("inputs", count(result.samples)),
                ("run by", " against ".join(result.runtimes)),
            ]
        case MatchResult():
            names = f"{count(len(result.missing))} missing, {count(len(result.unexpected))} unexpected"
            return [("matched", count(result.matched)), ("names", names), ("another shape", count(len(result.mismatched)))]
        case LayersResult():
            latency = [] if result.latency_ms is None else [("latency", f"{result.latency_ms:.3f} ms")]
            flops = [("compute", quantity(result.flops, "FLOP")), ("activations", bytes_(result.activation_bytes))]
            return [*flops, ("parameters", count(result.parameters)), *latency]
        case GraphResult():
            return [("operators", count(len(result.operators))), ("format", result.format)]
